"""Option numba__parallel: loops shared among threads, with the same results for any number of them."""

import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_numba.conftest import Link
from treadle.config import config
from treadle.graph import FunctionGraph, NodeValueError
from treadle.link.numba.compiler import COMPILER
from treadle.link.numba.program import NumbaProgram
from treadle.rewrite import rewrite_graph


@pytest.fixture(autouse=True)
def _shared() -> Iterator[None]:
    with config.change_flags(numba__parallel=True, numba__threads=3):
        yield


def _graph() -> tuple[list[Any], list[Any]]:
    """Return loops and reductions of every kind, over numbers of several types."""
    x, m, z = tt.dvector("x"), tt.dmatrix("m"), tt.zvector("z")
    i, h, s = tt.lvector("i"), tt.tensor("h", dtype="float16", shape=(None,)), tt.bscalar("s")
    outputs = [
        tt.exp(x) * 2.0 + s, m[:, ::-1] * x[:700], z * 2.0, h + h, i > 0, tt.eq(s, 1) & (i > 3),
        (tt.exp(x) + 1.0).sum(), x.sum(), x.max(), (x * 1.0000001).prod(), z.sum(), h.sum(), i.sum(), (i * 2).min(),
        (i > -1).all(), (i > 98).any(), (i * 3 - i).prod(),
        (m * 2.0).sum(axis=0), m.sum(axis=0), (m * 2.0).sum(axis=1), m.max(axis=1), m.T.sum(axis=0), m.T.sum(),
    ]  # fmt: skip
    return [x, m, z, i, h, s], outputs


def _values(n: int, rows: int) -> list[Any]:
    random = np.random.default_rng(5)
    z = random.normal(size=n) + 1j * random.normal(size=n)
    return [
        random.normal(size=n), random.normal(size=(rows, 700)), z, random.integers(0, 100, n),
        random.normal(size=n).astype("float16"), np.array(1, "int8"),
    ]  # fmt: skip


def _linked(link: Link, inputs: list[Any], outputs: list[Any]) -> NumbaProgram:
    graph = FunctionGraph(inputs, outputs)
    rewrite_graph(graph, include=("fusion",))
    return link(graph.inputs, graph.outputs)


def test_results_do_not_depend_on_the_number_of_threads_nor_does_machine_code(link: Link) -> None:
    results = []
    compiled = []
    for threads in (1, 2, 3):
        with config.change_flags(numba__threads=threads):
            program = _linked(link, *_graph())
        assert program.source.count("def thread_") > 15
        results.append(program(*_values(300_007, 601)))
        compiled.append(COMPILER.counts.compiled)
    assert compiled[0] == compiled[1] == compiled[2]
    for others in results[1:]:
        for got, want in zip(others, results[0], strict=True):
            np.testing.assert_array_equal(got, want)
    with config.change_flags(numba__parallel=False):
        plain = _linked(link, *_graph())
    assert "def thread_" not in plain.source
    for got, want in zip(results[0], plain(*_values(300_007, 601)), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=2e-3 if want.dtype == "float16" else 1e-11, atol=1e-12)


def test_short_and_empty_loops_are_right_too(link: Link) -> None:
    x, m = tt.dvector("x"), tt.dmatrix("m")
    with config.change_flags(numba__parallel_minsize=1):
        program = _linked(link, [x, m], [x * 2.0, (x + 1.0).sum(), m.sum(axis=1), (m * 2.0).sum(axis=0)])
    for n, shape in ((0, (0, 3)), (1, (1, 1)), (40_000, (3, 20_000)), (17, (70_000, 2))):
        values = np.arange(float(n)), np.ones(shape)
        results = program(*values)
        np.testing.assert_array_equal(results[0], values[0] * 2.0)
        np.testing.assert_allclose(results[1], (values[0] + 1.0).sum())
        np.testing.assert_allclose(results[2], np.ones(shape).sum(axis=1))
        np.testing.assert_allclose(results[3], 2.0 * np.ones(shape).sum(axis=0))


def test_values_that_any_thread_refuses_are_refused(link: Link) -> None:
    x, y = tt.lvector("x"), tt.lvector("y")
    program = link([x, y], [x**y, (x**y).sum()])
    base, power = np.full(300_000, 2), np.full(300_000, 3)
    assert (program(base, power)[0] == 8).all()
    power[299_990] = -1
    with pytest.raises(NodeValueError):
        program(base, power)


def test_callers_in_several_threads_and_in_forked_children_share_loops(link: Link) -> None:
    x = tt.dvector("x")
    program = _linked(link, [x], [x * 2.0, (x * 2.0 + 1.0).sum()])
    value = np.random.default_rng(6).normal(size=400_000)
    wanted = program(value)
    wrong: list[int] = []
    barrier = threading.Barrier(4)

    def run(number: int) -> None:
        barrier.wait()
        for _ in range(10):
            results = program(value)
            if not all(np.array_equal(got, want) for got, want in zip(results, wanted, strict=True)):
                wrong.append(number)

    callers = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong
    child = os.fork()
    if child == 0:
        results = program(value)
        os._exit(0 if all(np.array_equal(a, b) for a, b in zip(results, wanted, strict=True)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
