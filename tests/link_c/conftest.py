"""Linking by hand, without rewrites, with a compile directory of the test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from treadle.config import config
from treadle.graph import FunctionGraph
from treadle.link.c import toolchain
from treadle.link.c.linker import CLinker
from treadle.link.c.support.prebuilt import PREBUILT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiledir")


@pytest.fixture(autouse=True)
def _nothing_prebuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile helper functions here, whatever is installed."""
    monkeypatch.setattr(PREBUILT, "_folders", [])


@pytest.fixture(autouse=True)
def _own_directory(directory: Path) -> Iterator[None]:
    with config.change_flags(base_compiledir=str(directory)):
        yield


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[list[str]]]:
    """The commands of the compiler, in a compile directory of the test's own."""
    commands_run: list[list[str]] = []
    run = toolchain._run

    def noted(command: Sequence[str], shown: str) -> tuple[int, str]:
        commands_run.append(list(command))
        return run(command, shown)

    monkeypatch.setattr(toolchain, "_run", noted)
    with config.change_flags(base_compiledir=str(tmp_path)):
        yield commands_run


@pytest.fixture
def link() -> Callable[[Sequence[Any], Sequence[Any]], Any]:
    def link_program(inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        return CLinker().link(FunctionGraph(inputs, outputs))

    return link_program
