"""The pool of large blocks: results use memory again that was released."""

import os
import sys
import threading

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_numba.conftest import Link
from treadle.link.numba.routines.pool import LEAST_BYTES, POOL
from treadle.link.vm import pool_limit

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the pool asks Linux for huge pages")
SIZE = LEAST_BYTES // 4


def test_a_result_lies_where_one_lay_that_is_gone_and_nowhere_else(link: Link) -> None:
    x = tt.dvector("x")
    program = link([x], [x * 2.0])
    first = program(np.full(SIZE, 1.0))[0]
    second = program(np.full(SIZE, 2.0))[0]
    assert not np.shares_memory(first, second)
    place = first.ctypes.data
    kept = first[10:20]
    del first
    assert not np.shares_memory(kept, program(np.full(SIZE, 3.0))[0])
    np.testing.assert_array_equal(kept, 2.0)
    del kept
    before = POOL.reused
    places = {program(np.full(SIZE, 4.0))[0].ctypes.data for _ in range(4)}
    assert POOL.reused >= before + 3
    assert len(places) <= 2
    assert (place in places) or POOL.held
    np.testing.assert_array_equal(second, 4.0)


def test_join_of_joins_takes_the_memory_of_its_result_only(link: Link) -> None:
    x = tt.dmatrix("x")
    row = tt.concatenate([x[:2], x, x[:1] * 2], axis=0)
    program = link([x], [tt.concatenate([row, row[:, :3], row], axis=1), tt.concatenate([x, tt.concatenate([x, x])])])
    value = np.random.default_rng(0).normal(size=(700, LEAST_BYTES // 5000))
    joined = np.concatenate([value[:2], value, value[:1] * 2])
    before = POOL.made + POOL.reused
    wide, high = program(value)
    np.testing.assert_array_equal(wide, np.concatenate([joined, joined[:, :3], joined], axis=1))
    np.testing.assert_array_equal(high, np.concatenate([value] * 3))
    # `row` is read twice, so it has memory too.
    assert POOL.made + POOL.reused == before + 3


def test_joins_of_joins_in_branches_and_loops(link: Link) -> None:
    x, y, n = tt.dmatrix("x"), tt.fmatrix("y"), tt.lscalar("n")
    inner = tt.concatenate([x, tt.tanh(x)], axis=0)
    chosen = tt.ifelse(n > 1, tt.concatenate([inner, inner * 2], axis=1), tt.concatenate([inner, inner], axis=1))
    mixed = tt.concatenate([tt.concatenate([y, y + 1], axis=1), tt.concatenate([x, x], axis=1)], axis=0)
    looped = tt.fori_loop(0, n, lambda i, c: tt.concatenate([tt.concatenate([c[:1], c[2:]]), c[1:2] + i]), x)
    program = link([x, y, n], [chosen, mixed, looped])
    a, b = np.random.default_rng(1).normal(size=(3, 4)), np.ones((2, 4), "float32")
    both = np.concatenate([a, np.tanh(a)])
    for count in (0, 1, 2, 5):
        first, second, third = program(a, b, np.array(count))
        np.testing.assert_allclose(first, np.concatenate([both, both * (2 if count > 1 else 1)], axis=1), rtol=1e-14)
        np.testing.assert_array_equal(second, np.concatenate([np.hstack([b, b + 1]), np.hstack([a, a])]))
        expected = a
        for i in range(count):
            expected = np.concatenate([expected[:1], expected[2:], expected[1:2] + i])
        np.testing.assert_array_equal(third, expected)


def test_values_of_many_sizes_at_once_use_memory_again(link: Link) -> None:
    x = tt.dvector("x")
    program = link([x], [x[: -SIZE // (8 * k)] * float(k) for k in range(1, 41)])
    value = np.arange(float(SIZE))
    program(value)
    program(value)
    made, reused = POOL.made, POOL.reused
    results = program(value)
    assert (POOL.made, POOL.reused) == (made, reused + 40)
    for k, result in enumerate(results, 1):
        np.testing.assert_array_equal(result, value[: -SIZE // (8 * k)] * k)


def test_small_results_are_left_to_the_c_library(link: Link) -> None:
    x = tt.dvector("x")
    program = link([x], [x + 1.0])
    before = POOL.made + POOL.reused
    program(np.ones(1000))
    assert POOL.made + POOL.reused == before


def test_threads_get_blocks_of_their_own_and_no_more_is_held_than_allowed(link: Link) -> None:
    x = tt.dvector("x")
    program = link([x], [x + 1.0])
    wrong: list[float] = []
    barrier = threading.Barrier(6)

    def run(number: int) -> None:
        barrier.wait()
        for step in range(20):
            value = float(100 * number + step)
            (result,) = program(np.full(SIZE + 4096 * ((number + step) % 5), value))
            if not (result == value + 1.0).all():
                wrong.append(value)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert 0 <= POOL.held <= pool_limit()


def test_a_forked_child_uses_the_pool(link: Link) -> None:
    x = tt.dvector("x")
    program = link([x], [x * 3.0])
    kept = program(np.ones(SIZE))[0]
    program(np.ones(SIZE))
    child = os.fork()
    if child == 0:
        fine = all((program(np.full(SIZE, float(k)))[0] == 3.0 * k).all() for k in range(3)) and (kept == 3.0).all()
        os._exit(0 if fine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
