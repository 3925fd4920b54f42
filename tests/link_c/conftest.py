"""Linking by hand, without rewrites, with a compile directory of the test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from treadle.config import config
from treadle.graph import FunctionGraph
from treadle.link.c.linker import CLinker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiledir")


@pytest.fixture(autouse=True)
def _own_directory(directory: Path) -> Iterator[None]:
    with config.change_flags(base_compiledir=str(directory)):
        yield


@pytest.fixture
def link() -> Callable[[Sequence[Any], Sequence[Any]], Any]:
    def link_program(inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        return CLinker().link(FunctionGraph(inputs, outputs))

    return link_program
