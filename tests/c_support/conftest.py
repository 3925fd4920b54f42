"""A folder with the helpers of a few functions, compiled beforehand, and programs that are linked with it."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

import treadle.tensor as tt
from tools.support_wheel.building import build, levels_here
from tools.support_wheel.collecting import collected
from treadle.config import config
from treadle.graph import FunctionGraph
from treadle.link.c import building, toolchain
from treadle.link.c.linker import CLinker
from treadle.link.c.support import libraries
from treadle.link.c.support.levels import processor_level
from treadle.link.c.support.prebuilt import Folder, Prebuilt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

if sys.platform != "linux" or not processor_level():
    collect_ignore_glob = ["test_*prebuilt*.py", "test_wheel.py"]


def graphs() -> list[tuple[list[Any], Any]]:
    x, m = tt.dvector("x"), tt.dmatrix("m")
    return [([x], [x * 2]), ([m, x], [(m * x).sum(axis=1), tt.dot(m, x), x * 2])]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder, with the lowest level and that of this processor. Tests change copies of it."""
    place = tmp_path_factory.mktemp("prebuilt")
    build(place, collected(graphs(), graphs()), sorted({levels_here()[-1], processor_level()}))
    return place


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    """A copy of the folder."""
    return shutil.copytree(built, tmp_path / "prebuilt")


@pytest.fixture
def prebuilt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Prebuilt:
    """What the backend finds: this folder, and nothing that is installed."""
    found = Prebuilt(lambda: [Folder(folder, "a-distribution")])
    for module in (building, libraries):
        monkeypatch.setattr(module, "PREBUILT", found)
    return found


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[list[str]]]:
    """The commands of the compiler for programs and helpers, in a compile directory of the test's own."""
    commands_run: list[list[str]] = []
    run = toolchain._run

    def noted(command: Sequence[str], shown: str) -> tuple[int, str]:
        # The process's support libraries may be compiled meanwhile.
        target = command[command.index("-o") + 1]
        if "/support/" not in target or not target.endswith(".so"):
            commands_run.append(list(command))
        return run(command, shown)

    monkeypatch.setattr(toolchain, "_run", noted)
    with config.change_flags(base_compiledir=str(tmp_path / "compiled")):
        yield commands_run


@pytest.fixture
def link() -> Callable[[Sequence[Any], Sequence[Any]], Any]:
    def link_program(inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        return CLinker().link(FunctionGraph(inputs, outputs))

    return link_program
