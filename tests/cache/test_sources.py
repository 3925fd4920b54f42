"""What keys hold of the code of packages that several distributions bring modules of."""

import os
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

from treadle.cache import Cache, Sources, stamps
from treadle.cache.stamps import KeptStamps


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


def test_stamp_of_our_packages_is_the_same_before_they_are_loaded_and_after() -> None:
    code = """
        import sys
        from treadle.cache import Sources
        assert "treadle.sparse" not in sys.modules
        before = Sources().stamp("treadle.sparse")
        import treadle.sparse
        print(before == Sources().stamp("treadle.sparse") is not None)
    """
    done = subprocess.run([sys.executable, "-c", dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_stamp_does_not_depend_on_where_the_folders_are(package: tuple[str, Path], tmp_path: Path) -> None:
    name, brought = package
    before = Sources(4e9).stamp(name)
    moved = tmp_path / "third" / name
    moved.parent.mkdir()
    brought.rename(moved)
    sys.modules[name].__path__[-1] = str(moved)
    assert before == Sources(4e9).stamp(name)


@pytest.fixture
def kept(cache: Cache) -> KeptStamps:
    """Stamps kept in the folder of a test."""
    assert cache.persistent  # which makes the folder
    return KeptStamps(lambda: cache)


def _age(*folders: Path) -> None:
    """Let files be old enough that a further change shows in their times."""
    now = time.time()
    for folder in folders:
        for path in folder.rglob("*.py"):
            os.utime(path, (now - 60, now - 60))


def _reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note each package whose files are read, and take the times of their status as those of their content."""
    reads: list[str] = []
    read = Sources._read_stamp

    def noted(self: Sources, root: str, *others: list[str]) -> str | None:
        reads.append(root)
        return read(self, root, *others)

    monkeypatch.setattr(Sources, "_read_stamp", noted)
    monkeypatch.setattr(stamps, "_RESOLUTION", -1.0)
    return reads


def test_files_that_are_as_they_were_are_read_once(
    package: tuple[str, Path], kept: KeptStamps, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, brought = package
    _age(brought.parents[1])
    reads = _reads(monkeypatch)
    first = Sources(4e9, kept).stamps({name})
    assert reads == [name]
    assert Sources(4e9, KeptStamps(lambda: cache)).stamps({name}) == first == Sources(4e9).stamps({name})
    assert reads == [name, name]  # the second time by the one that keeps nothing


def test_a_change_shows_that_keeps_size_and_time(
    package: tuple[str, Path], kept: KeptStamps, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, brought = package
    _age(brought.parents[1])
    reads = _reads(monkeypatch)
    first = Sources(4e9, kept).stamps({name})
    path = brought / "shuttle.py"
    status = path.stat()
    path.write_text("speed = 3\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert Sources(4e9, kept).stamps({name}) != first
    assert reads == [name, name]


def test_stamps_of_files_that_were_changed_just_now_are_not_kept(
    package: tuple[str, Path], kept: KeptStamps, cache: Cache
) -> None:
    name, _ = package
    assert Sources(4e9, kept).stamps({name})[name] is not None
    assert not (cache.directory / "stamps").exists()


def test_damaged_stamps_are_read_anew(
    package: tuple[str, Path], kept: KeptStamps, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, brought = package
    _age(brought.parents[1])
    reads = _reads(monkeypatch)
    first = Sources(4e9, kept).stamps({name})
    path = cache.directory / "stamps"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert Sources(4e9, KeptStamps(lambda: cache)).stamps({name}) == first
    assert reads == [name, name]


def test_no_directory_is_made_for_stamps(
    package: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, brought = package
    _age(brought.parents[1])
    _reads(monkeypatch)
    later = Cache(tmp_path / "later", quiet=True)
    kept = KeptStamps(lambda: later)
    Sources(4e9, kept).stamps({name})
    assert not later.directory.exists()
    assert later.persistent
    kept.save()
    assert (later.directory / "stamps").is_file()
    later.purge()
    assert not later.directory.exists()
