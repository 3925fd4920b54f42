"""A third party's backend, installed for one test."""

import sys
from pathlib import Path

import pytest

MODULE = '''
from treadle.link.vm import Backend, VMLinker


class Linker(VMLinker):
    """Links to the Python VM, and counts."""

    linked = 0

    def link(self, fgraph, native_outputs=frozenset()):
        Linker.linked += 1
        return super().link(fgraph, native_outputs)


BACKEND = Backend(name="acme", linker=Linker, exclude=("fusion",), aliases=("acme|py",))
BROKEN = Backend(name="broken", linker=Linker, unavailable=lambda: "its engine is missing")
'''


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Install a distribution with two backends, one of which cannot work; return the module's name."""
    name = f"acme_backend_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[treadle.backends]\nacme = {name}:BACKEND\nbroken = {name}:BROKEN\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return name
