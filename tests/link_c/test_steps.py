"""Mode CVM: C where there is a rule, steps of the Python VM elsewhere; it is what the default mode uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import Mode, function, shared
from treadle.graph import Apply, LoweringError, NodeValueError, Op

if TYPE_CHECKING:
    from collections.abc import Sequence


class Reverse(Op):
    """A user's op, written in Python alone."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = map(tt.as_tensor, inputs)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        if inputs[0].size > 5:
            msg = "too long"
            raise ValueError(msg)
        output_storage[0][0] = inputs[0][::-1].copy()

    def grad(self, inputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        return [self(output_grads[0])]


reverse = Reverse()
DATA = np.array([1.0, 2.0, 4.0])


@pytest.mark.parametrize("mode", [None, "CVM", "FAST_RUN", Mode("c|py")])
def test_an_op_of_the_users_runs_among_compiled_ones(mode: Any) -> None:
    x = tt.dvector("x")
    f = function([x], [tt.exp(reverse(x * 2) + 1), reverse(x)], mode=mode)
    first, second = f(DATA)
    np.testing.assert_allclose(first, np.exp(2 * DATA[::-1] + 1))
    np.testing.assert_array_equal(second, DATA[::-1])


def test_its_gradient_runs_too() -> None:
    x = tt.dvector("x")
    cost = tt.sum(reverse(x * x) * tt.arange(3))
    np.testing.assert_allclose(function([x], tt.grad(cost, x))(DATA), 2 * DATA * np.array([2, 1, 0]))


def test_results_belong_to_the_caller() -> None:
    x = tt.dvector("x")
    f = function([x], [reverse(x), x + 1])
    data = DATA.copy()
    for result in f(data):
        assert not np.shares_memory(result, data)
        result[:] = 0.0
    np.testing.assert_array_equal(f(data)[0], DATA[::-1])


def test_a_step_that_fails_names_the_users_line() -> None:
    x = tt.dvector("x")
    f = function([x], reverse(x + 1) * 2)
    with pytest.raises(NodeValueError, match=r"Reverse: too long.*test_steps\.py"):
        f(np.ones(6))


def test_updates_of_shared_state_cross_the_steps() -> None:
    state = shared(DATA.copy(), name="state")
    f = function([], state.sum(), updates=[(state, reverse(state) + 1)])
    assert float(f()) == 7.0
    np.testing.assert_array_equal(state.get_value(), DATA[::-1] + 1)


def test_mode_c_refuses_what_it_has_no_rule_for() -> None:
    x = tt.dvector("x")
    with pytest.raises(LoweringError, match=r"c: no lowering for\s+Reverse"):
        function([x], reverse(x), mode="C")
