"""f.async_call: futures of results."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import CallError, function, get_mode, shared
from treadle.graph import NodeError

MODES = ("VM", "C", "JAX")


@pytest.mark.documents("Function.async_call")
@pytest.mark.parametrize("mode", MODES)
def test_results_come_in_the_form_of_a_call(mode: str) -> None:
    x = tt.dvector("x")
    values = np.arange(3.0)
    one = function([x], x + 1, mode=mode).async_call(values).result(60)
    assert type(one) is np.ndarray
    assert one.tolist() == [1, 2, 3]
    one += 1
    several = function([x], [x + 1, x.sum()], mode=mode).async_call(x=[1.0, 2.0]).result(60)
    assert [r.tolist() for r in several] == [[2, 3], 3]
    assert function([x], {"a": x.sum()}, mode=mode).async_call(values).result(60) == {"a": 3}
    nested: Any = function([{"x": x}], {"y": (x * 2, x)}, mode=mode)
    assert nested.async_call({"x": values}).result(60)["y"][0].tolist() == [0, 2, 4]


@pytest.mark.parametrize("mode", MODES)
def test_calls_are_made_in_order_and_arguments_may_change(mode: str) -> None:
    x, w = tt.dvector("x"), shared(np.zeros(1000))
    f = function([x], w[0], updates={w: w * 2 + x}, mode=mode)
    value = np.empty(1000)
    futures = []
    for k in range(6):
        value[:] = k
        futures.append(f.async_call(value))
        value[:] = 100
    assert [float(future.result(60)) for future in futures] == [0, 0, 1, 4, 11, 26]
    assert w.get_value()[0] == 57


@pytest.mark.parametrize("mode", MODES)
def test_errors_are_the_futures(mode: str) -> None:
    x, i = tt.dvector("x"), tt.lscalar("i")
    f = function([x, i], x[i], mode=mode)
    with pytest.raises(CallError):
        f.async_call([1.0]).result(60)
    with pytest.raises(NodeError, match="index"):
        f.async_call([1.0], 3).result(60)
    assert f.async_call([1.0], 0).result(60) == 1


def test_futures_are_awaited() -> None:
    x = tt.dscalar("x")
    f = function([x], x * 2, mode="VM")

    async def total() -> float:
        return float(sum(await asyncio.gather(*(asyncio.wrap_future(f.async_call(k)) for k in range(4)))))

    assert asyncio.run(total()) == 12


def test_jax_returns_its_own_arrays_where_the_mode_says_so() -> None:
    jax = pytest.importorskip("jax")
    x = tt.dvector("x")
    mode = get_mode("JAX").clone(link_kwargs={"device_outputs": True})
    assert isinstance(function([x], x + 1, mode=mode).async_call([1.0]).result(60), jax.Array)


def test_a_call_on_jax_is_begun_in_the_thread_that_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    program = pytest.importorskip("treadle.link.jax.programs.program")
    x = tt.dvector("x")
    f = function([x], x + 1, mode="JAX")
    f.async_call([1.0]).result(60)
    threads: list[int] = []
    call = program.JaxProgram.__call__

    def noted(self: Any, *values: Any) -> Any:
        threads.append(threading.get_ident())
        return call(self, *values)

    monkeypatch.setattr(program.JaxProgram, "__call__", noted)
    assert f.async_call([1.0]).result(60) == 2
    assert threads == [threading.get_ident()]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_makes_calls_too() -> None:
    x = tt.dscalar("x")
    f = function([x], x + 1, mode="VM")
    assert f.async_call(1).result(60) == 2
    child = os.fork()
    if child == 0:
        os._exit(0 if f.async_call(2).result(60) == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0
