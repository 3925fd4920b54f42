"""A compile cache that no other test run has touched, shared by the tests of this folder."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from treadle.config import config
from treadle.graph import FunctionGraph
from treadle.link.numba import NumbaLinker
from treadle.link.numba.program import NumbaProgram

Link = Callable[[Sequence[Any], Sequence[Any]], NumbaProgram]


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("numba-cache")


@pytest.fixture(autouse=True)
def _own_cache(cache_folder: Path) -> Iterator[None]:
    with config.change_flags(compiledir=cache_folder):
        yield


@pytest.fixture
def link() -> Link:
    """Return a function from inputs and outputs to a program."""

    def make(inputs: Sequence[Any], outputs: Sequence[Any]) -> NumbaProgram:
        program: Any = NumbaLinker().link(FunctionGraph(list(inputs), list(outputs)))
        return program  # type: ignore[no-any-return]  # a NumbaProgram, as no node runs in Python

    return make
