"""One function, called from eight threads at once, gives right answers only."""

import threading
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.contract.backends import BACKENDS
from treadle.compile import function, shared
from treadle.graph import Apply, FunctionGraph, Op
from treadle.link.vm import PythonLinker
from treadle.testing import HammerError, hammer
from treadle.testing.threads import CALLS, THREADS

on_every_backend = pytest.mark.parametrize("backend", [name.upper() for name in BACKENDS])


def vector(k: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(k).uniform(-1, 1, 5 + k % 3)


@on_every_backend
def test_twenty_thousand_calls_give_right_answers(backend: str) -> None:
    x = tt.dvector("x")
    run = function([x], tt.sum(tt.exp(x[::-1]) * x) + tt.max(x), mode=backend)

    def right(k: int) -> Any:
        v = vector(k)
        return (np.exp(v[::-1]) * v).sum() + v.max()

    answers = hammer(run, lambda k: (vector(k),), right)
    assert len(answers) == THREADS * CALLS


@on_every_backend
def test_updates_from_eight_threads_are_all_kept(backend: str) -> None:
    x = tt.dscalar("x")
    total, count = shared(np.zeros(3), name="total"), shared(np.array(0), name="count")
    run = function([x], count, updates=[(total, total + x), (count, count + 1)], mode=backend)
    answers = hammer(run, lambda k: (float(k % 4),), None)
    assert sorted(int(a) for a in answers) == list(range(THREADS * CALLS))
    assert count.get_value() == THREADS * CALLS
    expected = sum(float((call + thread * 7) % 50 % 4) for thread in range(THREADS) for call in range(CALLS))
    np.testing.assert_array_equal(total.get_value(), np.full(3, expected))


class Meet(Op):
    """Returns its input, after two threads have met inside."""

    barrier = threading.Barrier(2)

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[0].type.make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        del node
        self.barrier.wait(30)
        output_storage[0][0] = inputs[0].copy()


def test_two_calls_inside_one_program_keep_apart() -> None:
    x = tt.dvector("x")
    program = PythonLinker().link(FunctionGraph([x], [Meet()(x * 2) + x], clone=False))
    hammer(lambda a: program(a)[0], lambda k: (vector(k),), lambda k: 3 * vector(k), threads=2, calls=100)


def test_wrong_answers_are_counted() -> None:
    with pytest.raises(HammerError, match="20 of 20 answers are wrong"):
        hammer(lambda x: x, lambda k: (k,), lambda k: k + 1, threads=2, calls=10)


def test_call_that_raises_is_reported() -> None:
    with pytest.raises(HammerError, match="ZeroDivisionError"):
        hammer(lambda x: 1 // x, lambda k: (k * 0,), None, threads=2, calls=10)
