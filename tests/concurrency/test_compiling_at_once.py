"""Compilation from twelve threads at once, the same graph and different ones."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.contract.backends import BACKENDS
from treadle.compile import function, shared

if TYPE_CHECKING:
    from collections.abc import Callable

THREADS = 12

on_every_backend = pytest.mark.parametrize("backend", [name.upper() for name in BACKENDS])


def _all_at_once(work: Callable[[int], Any]) -> list[Any]:
    barrier = threading.Barrier(THREADS)
    results: list[Any] = [None] * THREADS
    failures: list[BaseException] = []

    def run(thread: int) -> None:
        try:
            barrier.wait()
            results[thread] = work(thread)
        except BaseException as error:  # noqa: BLE001 - told to the test
            failures.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    return results


@on_every_backend
def test_one_graph_is_compiled_by_all_threads(backend: str) -> None:
    x = tt.dvector("x")
    weight = shared(np.arange(4.0), name="weight")
    loss = tt.sum(tt.tanh(x * weight) ** 2)
    slope = tt.grad(loss, weight)

    def work(thread: int) -> Any:
        f = function([x], [loss, slope], mode=backend)
        return f(np.full(4, 0.1 * thread))

    for thread, (value, gradient) in enumerate(_all_at_once(work)):
        inner = np.tanh(0.1 * thread * np.arange(4.0))
        np.testing.assert_allclose(value, (inner**2).sum(), atol=1e-12)
        np.testing.assert_allclose(gradient, 2 * inner * (1 - inner**2) * 0.1 * thread, atol=1e-12)


@on_every_backend
def test_each_thread_builds_differentiates_and_compiles_its_own_graph(backend: str) -> None:
    count = 3 if backend == "PYTORCH" else THREADS  # one compilation of PyTorch's takes seconds

    def work(thread: int) -> Any:
        if thread >= count:
            return None
        x = tt.dvector("x")
        y = x
        for _ in range(thread % 5 + 1):
            y = tt.sin(y) * (thread + 1)
        return function([x], tt.grad(y.sum(), x), mode=backend)(np.linspace(0, 1, 3))

    for thread, result in enumerate(_all_at_once(work)[:count]):
        value, slope = np.linspace(0, 1, 3), np.ones(3)
        for _ in range(thread % 5 + 1):
            slope = slope * np.cos(value) * (thread + 1)
            value = np.sin(value) * (thread + 1)
        np.testing.assert_allclose(result, slope, rtol=1e-9)
