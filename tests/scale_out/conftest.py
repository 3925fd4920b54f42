"""Workers that the tests share."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.context import ForkServerContext

# What the functions of the tests load, and what workers of Dask do.
PRELOADED = [
    *("tests.scale_out.mesh", "tests.scale_out.work", "distributed", "distributed.nanny", "numpy.random"),
    *("treadle.compile.functions.maker", "treadle.link.c.linker", "treadle.link.c.program", "treadle.tensor.loops"),
    *("treadle.tensor.lower_vm", "treadle.tensor.random.distributions.continuous", "treadle.tensor.products.product"),
]


@pytest.fixture(scope="session")
def server() -> ForkServerContext:
    """Return how processes begin: as forks of one that has imported what they need, which saves most of their time."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


@pytest.fixture(scope="session")
def executor(server: ForkServerContext) -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=server) as made:
        yield made
