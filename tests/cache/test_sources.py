"""What keys hold of the code of packages that several distributions bring modules of."""

import sys
from pathlib import Path

import pytest

from treadle.cache import Sources


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Path]:
    """A package of one folder, with a second folder of modules that another distribution brings; that second folder."""
    name, brought = "weavers_of_cloth", tmp_path / "second" / "weavers_of_cloth"
    own = tmp_path / "first" / name
    for folder in (own, brought):
        folder.mkdir(parents=True)
    (own / "__init__.py").write_text(f"__path__.append({str(brought)!r})\n")
    (brought / "shuttle.py").write_text("speed = 1\n")
    monkeypatch.syspath_prepend(str(own.parent))
    __import__(name)
    monkeypatch.delitem(sys.modules, name, raising=False)
    __import__(name)
    return name, brought


def test_stamp_holds_the_modules_that_other_distributions_bring(package: tuple[str, Path]) -> None:
    name, brought = package
    later = 4e9  # nothing was changed after the process began
    before = Sources(later).stamp(name)
    (brought / "shuttle.py").write_text("speed = 2\n")
    assert before is not None
    assert before != Sources(later).stamp(name)


def test_stamp_does_not_depend_on_where_the_folders_are(package: tuple[str, Path], tmp_path: Path) -> None:
    name, brought = package
    before = Sources(4e9).stamp(name)
    moved = tmp_path / "third" / name
    moved.parent.mkdir()
    brought.rename(moved)
    sys.modules[name].__path__[-1] = str(moved)
    assert before == Sources(4e9).stamp(name)
