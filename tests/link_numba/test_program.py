"""The promises of a program to its caller: ownership, layouts, threads, errors."""

import gc
import resource
import threading
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_numba.conftest import Link
from treadle.graph import NodeIndexError, NodeValueError
from treadle.link.numba.compiler import COMPILER
from treadle.link.numba.program import NumbaProgram


def test_one_compile_serves_every_layout(link: Link) -> None:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    program = link([x, y], [tt.tanh(x) * y])
    before = COMPILER.counts
    a, b = np.random.default_rng(0).normal(size=(2, 6, 6))
    frozen = a.copy()
    frozen.flags.writeable = False
    for left in (a, a.T, a[::-1, ::-1], np.asfortranarray(a), frozen):
        np.testing.assert_allclose(program(left, b)[0], np.tanh(left) * b, rtol=1e-14)
    assert COMPILER.counts == before


def test_unknown_dimensions_broadcast_when_they_turn_out_to_be_one(link: Link) -> None:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    program = link([x, y], [x - y])
    for left, right in (((3, 1), (1, 4)), ((1, 1), (3, 4)), ((3, 4), (1, 1)), ((1, 4), (3, 4)), ((0, 1), (1, 4))):
        a, b = np.ones(left), np.arange(np.prod(right), dtype="float64").reshape(right)
        np.testing.assert_array_equal(program(a, b)[0], a - b)


def test_outputs_belong_to_the_caller(link: Link) -> None:
    x = tt.dmatrix("x")
    fixed = tt.constant(np.arange(3.0))
    total = x + 1.0
    program = link([x], [x, x, x.T, fixed, total, total.T, total])
    value = np.arange(4.0).reshape(2, 2)
    results = program(value)
    again = program(value)
    arrays = [value, fixed.data, *results, *again]
    for i, a in enumerate(arrays):
        for b in arrays[:i]:
            assert not np.shares_memory(a, b)
    for result in results:
        assert result.flags.writeable
        result[...] = -1
    np.testing.assert_array_equal(program(value)[3], np.arange(3.0))
    np.testing.assert_array_equal(program(value)[5], value.T + 1)


def test_results_outlive_the_program(link: Link) -> None:
    x = tt.dvector("x")
    result = link([x], [tt.exp(x)])(np.zeros(1000))[0]
    gc.collect()
    np.testing.assert_array_equal(result, np.ones(1000))


def test_eight_threads_may_call_one_program_at_once(link: Link) -> None:
    x = tt.dmatrix("x")
    program = link([x], [tt.dot(x, x.T).sum(axis=0), (x * 2 + 1).max(axis=1)])
    barrier = threading.Barrier(8)
    failures: list[Any] = []

    def work(seed: int) -> None:
        value = np.random.default_rng(seed).normal(size=(40 + seed, 30))
        wanted = value @ value.T
        barrier.wait()
        for _ in range(50):
            total, top = program(value)
            if not np.allclose(total, wanted.sum(axis=0)) or not np.allclose(top, (value * 2 + 1).max(axis=1)):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []


def test_shape_clash_names_the_line(link: Link) -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    program = link([x, y], [tt.exp(x) + y])
    with pytest.raises(NodeValueError, match=r"test_program\.py") as caught:
        program(np.ones(3), np.ones(4))
    assert isinstance(caught.value, ValueError)
    np.testing.assert_allclose(program(np.ones(3), np.ones(3))[0], np.e + 1)


def test_position_out_of_bounds_names_the_line(link: Link) -> None:
    x, i = tt.dmatrix("x"), tt.lvector("i")
    program = link([x, i], [x[i]])
    with pytest.raises(NodeIndexError, match=r"test_program\.py"):
        program(np.ones((3, 2)), np.array([0, 3]))
    with pytest.raises(NodeIndexError):
        program(np.ones((3, 2)), np.array([-4]))
    with pytest.raises(NodeIndexError):
        program(np.ones((3, 0)), np.array([5]))


@pytest.mark.parametrize("reduce", [tt.max, tt.min, tt.argmax, tt.argmin])
def test_extremum_of_nothing_is_an_error(link: Link, reduce: Any) -> None:
    x = tt.dmatrix("x")
    program = link([x], [reduce(x, axis=0)])
    assert program(np.ones((2, 0)))[0].shape == (0,)
    with pytest.raises(NodeValueError):
        program(np.ones((0, 2)))


def test_integers_to_negative_powers_are_an_error(link: Link) -> None:
    x, y = tt.lvector("x"), tt.lvector("y")
    program = link([x, y], [x**y])
    np.testing.assert_array_equal(program(np.array([2, -3]), np.array([10, 3]))[0], [1024, -27])
    with pytest.raises(NodeValueError, match="negative"):
        program(np.array([2]), np.array([-1]))


def test_failed_calls_leak_nothing(link: Link) -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    program = link([x, y], [x * 2.0, x * 3.0 + y])
    value, wrong = np.ones(1_000_000), np.ones(4)

    def fail() -> None:
        with pytest.raises(NodeValueError):
            program(value, wrong)

    fail()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(60):
        fail()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 30 * value.nbytes


def test_long_graph_is_cut_into_parts(link: Link) -> None:
    x, s = tt.dvector("x"), tt.dscalar("s")
    v: Any = x
    scale: Any = s
    for i in range(50):
        scale = scale * 1.5 - 0.5
        v = v * 0.5 + scale if i % 7 else v[::-1] + scale
    program = link([x, s], [v, scale, v.sum()])
    assert program.source.count("def part_") > 1
    value, number = np.arange(4.0), np.array(1.25)
    wanted, w_scale = value, number
    for i in range(50):
        w_scale = w_scale * 1.5 - 0.5
        wanted = wanted * 0.5 + w_scale if i % 7 else wanted[::-1] + w_scale
    results = program(value, number)
    np.testing.assert_allclose(results[0], wanted, rtol=1e-12)
    np.testing.assert_allclose(results[1], w_scale, rtol=1e-12)
    np.testing.assert_allclose(results[2], wanted.sum(), rtol=1e-12)


def test_text_grows_with_the_graph_however_many_values_are_alive(link: Link) -> None:
    def program_of(count: int) -> NumbaProgram:
        x, z, n = tt.dscalar("x"), tt.zscalar("z"), tt.lscalar("n")
        values = [tt.exp(x * float(i) / count) if i % 2 else n + i for i in range(count)]
        far = [z * 2.0, x > 0.0, x.astype("float32") * np.float32(0.1)]
        total: Any = 0.0
        for value in reversed(values):
            total = total * 0.5 + value
        return link([x, z, n], [total, far[0] * total, far[1] & (total > 0.0), far[2] + x.astype("float32")])

    small, large = program_of(200), program_of(400)
    assert len(large.source) < 2.1 * len(small.source)
    wanted = 0.0
    for i in reversed(range(200)):
        wanted = wanted * 0.5 + (np.exp(0.5 * i / 200) if i % 2 else 7 + i)
    results = small(np.array(0.5), np.array(1 + 2j), np.array(7))
    np.testing.assert_allclose(results[0], wanted, rtol=1e-12)
    np.testing.assert_allclose(results[1], (2 + 4j) * wanted, rtol=1e-12)
    assert results[2] == (wanted > 0.0)
    np.testing.assert_allclose(results[3], np.float32(0.5) * np.float32(0.1) + np.float32(0.5), rtol=1e-6)


def test_equal_loops_of_unrolled_groups_are_compiled_once(link: Link) -> None:
    def compiled(groups: int) -> tuple[int, int]:
        x, y = tt.dvector("x"), tt.dvector("y")
        scales = [tt.dscalar(f"scale{i}") for i in range(groups)]
        total: Any = 0.0
        for scale in scales:
            total = total + (tt.tanh(x * scale) - y).sum()
        program = link([x, y, *scales], [total])
        return program.source.count("\ndef part_"), program.source.count("def ")

    parts, functions = compiled(20)
    more_parts, more_functions = compiled(40)
    assert more_parts <= 2 * parts
    assert more_functions - more_parts == functions - parts


def test_programs_run_without_the_interpreter_lock(link: Link) -> None:
    x = tt.dvector("x")
    program = link([x], [tt.sin(tt.exp(tt.sin(x))).sum()])
    value = np.ones(20_000_000)
    ticks = 0
    running = threading.Event()
    done = threading.Event()

    def work() -> None:
        running.set()
        program(value)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    running.wait()
    while not done.is_set():
        ticks += 1
    thread.join()
    assert ticks > 1000
