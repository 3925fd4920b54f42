"""A call that fails in the middle, wherever that is, leaves everything as it was; the next call is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.contract.backends import BACKENDS
from treadle.compile import In, function, shared
from treadle.graph import Apply, NodeError, Op

if TYPE_CHECKING:
    from collections.abc import Sequence

STEPS = 8

on_every_backend = pytest.mark.parametrize("backend", [name.upper() for name in BACKENDS])


class FaultError(Exception):
    """The error of a planted fault."""


class Fault(Op):
    """Return the input, or raise when told to."""

    armed: Fault | None = None

    def __init__(self, position: int) -> None:
        self.position = position

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[0].type.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        del node
        if Fault.armed is self:
            msg = f"planted at {self.position}"
            raise FaultError(msg)
        output_storage[0][0] = np.array(inputs[0])


@pytest.mark.parametrize("backend", ["VM", "CVM", "FAST_COMPILE"])
def test_a_fault_after_any_op_leaves_state_and_defaults(backend: str) -> None:
    x, count = tt.dvector("x"), tt.dscalar("count")
    state, total = shared(np.arange(3.0), name="state"), shared(np.zeros(3), name="total")
    faults: list[Fault] = []

    def through(value: Any) -> Any:
        faults.append(Fault(len(faults)))
        return faults[-1](value)

    a = through(tt.exp(through(x) * 0.1))
    b = through(a[::-1] + through(state))
    c = through(tt.dot(b, a) + through(count))
    new_state, new_total, new_count = through(b / c), through(total + c), through(count + 1)
    f = function(
        [x, In(count, value=5.0, update=new_count)], [c, b], updates=[(state, new_state), (total, new_total)],
        mode=backend,
    )  # fmt: skip
    start = np.array([1.0, 2.0, 3.0])

    def snapshot() -> list[Any]:
        return [state.get_value(), total.get_value(), np.array(f.value["count"])]

    for fault in faults:
        before, argument = snapshot(), start.copy()
        Fault.armed = fault
        try:
            with pytest.raises(NodeError, match=f"planted at {fault.position}"):
                f(argument)
        finally:
            Fault.armed = None
        for old, now in zip(before, snapshot(), strict=True):
            np.testing.assert_array_equal(old, now)
        np.testing.assert_array_equal(argument, start)
        a_ = np.exp(start * 0.1)
        b_ = a_[::-1] + before[0]
        c_ = b_ @ a_ + before[2]
        results = f(argument)
        np.testing.assert_allclose(results[0], c_)
        np.testing.assert_allclose(results[1], b_)
        for expected, now in zip([b_ / c_, before[1] + c_, before[2] + 1], snapshot(), strict=True):
            np.testing.assert_allclose(expected, now)


@on_every_backend
def test_an_index_out_of_bounds_at_any_step_leaves_state(backend: str) -> None:
    places = [tt.lscalar(f"place{k}") for k in range(STEPS)]
    state, log = shared(np.arange(4.0), name="state"), shared(np.zeros(STEPS), name="log")
    value, picked = state, []
    for place in places:
        element = value[place]
        picked.append(element)
        value = tt.tanh(value * 0.5 + element)
    f = function(places, value.sum(), updates=[(state, value), (log, log + tt.stack(picked))], mode=backend)

    def right(old: Any, at: Sequence[int]) -> tuple[Any, Any]:
        elements = []
        for k in at:
            elements.append(old[k])
            old = np.tanh(old * 0.5 + old[k])
        return old, np.array(elements)

    good = [k % 4 for k in range(STEPS)]
    for wrong in range(STEPS):
        old_state, old_log = state.get_value(), log.get_value()
        with pytest.raises(NodeError, match="out of bounds") as caught:
            f(*[7 if k == wrong else at for k, at in enumerate(good)])
        assert isinstance(caught.value, IndexError)
        np.testing.assert_array_equal(state.get_value(), old_state)
        np.testing.assert_array_equal(log.get_value(), old_log)
        new_state, elements = right(old_state, good)
        np.testing.assert_allclose(f(*good), new_state.sum())
        np.testing.assert_allclose(state.get_value(), new_state)
        np.testing.assert_allclose(log.get_value(), old_log + elements)


@on_every_backend
def test_a_bad_argument_leaves_state_and_the_next_call_is_right(backend: str) -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    state = shared(np.zeros(3), name="state")
    f = function([x, y], state + x * y, updates=[(state, state + x)], mode=backend)
    with pytest.raises(TypeError):
        f(np.ones(3), np.ones((3, 1)))
    with pytest.raises(TypeError):
        f(np.ones(3), "no array")
    with pytest.raises(ValueError, match="shape"):
        f(np.ones(3), np.ones(2))
    np.testing.assert_array_equal(state.get_value(), np.zeros(3))
    np.testing.assert_array_equal(f(np.ones(3), np.full(3, 2.0)), np.full(3, 2.0))
    np.testing.assert_array_equal(state.get_value(), np.ones(3))
