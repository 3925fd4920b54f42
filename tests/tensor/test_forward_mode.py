"""Directional derivatives, node by node."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import Apply, DisconnectedType, IfElse, Op, Variable, applys_between
from treadle.tensor import DisconnectedInputError, NullTypeGradError

X = np.array([0.3, -1.2, 2.0])
V = np.array([1.0, -2.0, 0.5])


def value(expression: Any, *pairs: tuple[Any, Any]) -> Any:
    inputs = [x for x, _ in pairs]
    return function(inputs, expression, on_unused_input="ignore", mode="VM")(*(array for _, array in pairs))


def count(expression: Variable, *inputs: Variable) -> int:
    return len(list(applys_between(inputs, [expression])))


def test_both_ways_to_directional_derivatives_agree() -> None:
    x, v = tt.dvectors("x", "v")
    y = [tt.softmax(x) * x[0] + tt.cumprod(x), tt.exp(x).sum() * tt.outer(x, x[::-1])]
    both = [tt.pushforward(y, x, v), tt.pushforward_through_pullback(y, x, v)]
    derivatives = value([*both[0], *both[1]], (x, X), (v, V))
    assert derivatives[0] == pytest.approx(derivatives[2])
    assert derivatives[1] == pytest.approx(derivatives[3])


def test_products_from_either_side_are_transposes() -> None:
    x, u, v = tt.dvectors("x", "u", "v")
    middle = tt.tanh(x)
    y = middle * x[0] + tt.sort(x)
    # One variable is computed from the other: it moves on its own, and with the other.
    back = tt.pullback(y, [x, middle], u)
    moved = tt.pushforward(y, [x, middle], [v, 2 * v])
    left, right = value([(back[0] * v + back[1] * 2 * v).sum(), (u * moved).sum()], (x, X), (u, V[::-1]), (v, V))
    assert left == pytest.approx(right)


def test_every_node_is_visited_once() -> None:
    x, v = tt.dvectors("x", "v")
    sizes = []
    for n in (10, 20, 40):
        y = x
        for _ in range(n):
            y = tt.sin(y) * y
        sizes.append(count(tt.pushforward(y, x, v), x, v))
    assert sizes[1] - sizes[0] == (sizes[2] - sizes[1]) / 2


def test_a_long_chain_is_no_problem() -> None:
    x, v = tt.dvectors("x", "v")
    y = x
    for _ in range(3000):
        y = tt.softplus(y)
    assert tt.pushforward(y, x, v).ndim == 1


def test_an_op_is_asked_for_its_own_rule() -> None:
    class Doubled(Op):
        __props__ = ()

        def make_node(self, x: Any) -> Apply:
            return Apply(self, [x], [x.type()])

        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            output_storage[0][0] = 2 * inputs[0]

        def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> list[Any]:
            return [7 * eval_points[0]]  # type: ignore[operator]  # a tensor

    x, v = tt.dvectors("x", "v")
    y = Doubled()(tt.exp(x))
    assert value(tt.pushforward(y, x, v), (x, X), (v, V)) == pytest.approx(7 * np.exp(X) * V)
    with pytest.raises(NotImplementedError, match="defines no gradient"):
        tt.pushforward(y, x, v, use_op_pushforward=False)


def test_what_broadcasts_moves_in_full() -> None:
    x, y, v = tt.dmatrix("x"), tt.dvector("y"), tt.dvector("v")
    moved = tt.pushforward(x + y, y, v)
    assert value(moved, (x, np.zeros((2, 3))), (y, X), (v, V)).tolist() == [V.tolist()] * 2
    # A length that turns out to be 1.
    a, b, w = tt.dvectors("a", "b", "w")
    assert value(tt.pushforward(a + b, b, w), (a, X), (b, [1.0]), (w, [2.0])).tolist() == [2.0, 2.0, 2.0]
    assert value(tt.pushforward(a * b, b, w), (a, X), (b, [1.0]), (w, [2.0])).tolist() == (2 * X).tolist()


def test_only_the_branch_taken_moves() -> None:
    x, v = tt.dscalars("x", "v")
    y = IfElse(1)(tt.gt(x, 0), tt.sqrt(x), tt.exp(x))
    moved = tt.pushforward(y, x, v)
    assert value(moved, (x, 4.0), (v, 1.0)) == pytest.approx(0.25)
    assert value(moved, (x, -4.0), (v, 1.0)) == pytest.approx(np.exp(-4))
    chosen = tt.pushforward(tt.switch(tt.gt(x, 0), tt.sqrt(x), 0), x, v)
    assert value(chosen, (x, 0.0), (v, 1.0)) == 0


def test_what_does_not_move_is_refused_or_zero() -> None:
    x, y = tt.dvectors("x", "y")
    with pytest.raises(DisconnectedInputError, match="y does not depend on what moves"):
        tt.pushforward(y, x, x)
    with pytest.warns(UserWarning, match="y does not depend"):
        tt.pushforward(y, x, x, disconnected_outputs="warn")
    assert value(tt.pushforward(y, x, x, disconnected_outputs="ignore"), (x, X), (y, V)).tolist() == [0, 0, 0]
    options: dict[str, Any] = {"disconnected_outputs": "ignore"}
    assert tt.pushforward([y], x, x, **options, return_disconnected="none") == [None]
    (absent,) = tt.pushforward([y], x, x, **options, return_disconnected="disconnected")
    assert isinstance(absent.type, DisconnectedType)
    with pytest.raises(ValueError, match="must be one of raise, warn, ignore"):
        tt.pushforward(y, x, x, disconnected_outputs="whatever")


def test_what_controls_gradients_controls_directional_ones() -> None:
    x, v = tt.dvectors("x", "v")
    assert value(tt.pushforward(tt.grad_scale(x, 3) ** 2, x, v), (x, X), (v, V)) == pytest.approx(6 * X * V)
    assert value(tt.pushforward(tt.zero_grad(x) * x, x, v), (x, X), (v, V)) == pytest.approx(X * V)
    assert value(tt.pushforward(tt.disconnected_grad(x) * x, x, v), (x, X), (v, V)) == pytest.approx(X * V)
    with pytest.raises(NullTypeGradError, match="undefined_grad"):
        tt.pushforward(tt.undefined_grad(x) * x, x, v)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_narrow_floats_stay_narrow(dtype: str) -> None:
    x, v = tt.vectors("x", "v", dtype=dtype)
    y = tt.log1p(x**2) / 3 + x.mean() * tt.sigmoid(2 * x)
    assert tt.pushforward(y, x, v).dtype == dtype


def test_directional_derivatives_of_complex_functions() -> None:
    z, v = tt.zvectors("z", "v")
    at, way = np.array([1 + 2j, -0.5j]), np.array([0.3 - 1j, 2 + 1j])
    y = [abs(z), z.conj() * z**2, tt.angle(z), tt.sgn(z), z.real]
    h = 1e-6
    tangents = value(tt.pushforward(y, z, v), (z, at), (v, way))
    ends = [(np.abs(z), z.conj() * z**2, np.angle(z), z / abs(z), z.real) for z in (at + h * way, at - h * way)]
    for moved, after, before in zip(tangents, *ends, strict=True):
        assert moved == pytest.approx((after - before) / (2 * h), abs=1e-8)


def test_gradients_move_too() -> None:
    x, v = tt.dvectors("x", "v")
    cost = tt.exp(x).sum() * (x**2).sum()
    product = tt.pushforward(tt.grad(cost, x), x, v)
    assert value(product, (x, X), (v, V)) == pytest.approx(value(tt.hessian(cost, x), (x, X)) @ V)


def test_a_gradient_that_is_given_counts_in_forward_mode_too() -> None:
    x, v = tt.dvectors("x", "v")
    z = tt.dvector("z")
    tripled = tt.OpFromGraph([z], [tt.exp(z)], pullback=lambda _, __, cotangents: [3 * cotangents[0]])
    assert value(tt.pushforward(tripled(x), x, v), (x, X), (v, V)) == pytest.approx(3 * V)

    class Doubled(tt.OpFromGraph):
        def L_op(
            self, inputs: Sequence[Variable], outputs: Sequence[Variable], output_grads: Sequence[Variable]
        ) -> list[Any]:
            return [2 * output_grads[0]]  # type: ignore[operator]  # a tensor

    doubled = Doubled([z], [tt.exp(z)])
    assert value(tt.pushforward(doubled(x), x, v), (x, X), (v, V)) == pytest.approx(2 * V)


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
def test_derivatives_of_products_are_right_at_zeros(zeros: int) -> None:
    x, *ways = tt.dvectors("x", "u", "v", "w")
    at = np.array([2.0, -3.0, 4.0, 0.5])
    at[:zeros] = 0
    moves = np.array([[1.0, -2.0, 0.5, 3.0], [0.2, 1.0, -1.0, 2.0], [-1.0, 0.3, 2.0, 1.0]])
    forward = [tt.prod(x)]
    for way in ways:
        forward.append(tt.pushforward(forward[-1], x, way))
    backward = tt.hessian(tt.prod(x), x)
    derivatives = value([*forward[1:], backward], (x, at), *zip(ways, moves, strict=True))
    for order in (1, 2, 3):
        expected = sum(
            np.prod([moves[k][i] for k, i in enumerate(chosen)]) * np.prod(np.delete(at, chosen))
            for chosen in permutations(range(4), order)
        )
        assert derivatives[order - 1] == pytest.approx(expected, abs=1e-12)
    assert moves[0] @ derivatives[3] @ moves[1] == pytest.approx(derivatives[1], abs=1e-12)


def test_a_direction_is_taken_for_as_long_as_the_variable_is_known_to_be() -> None:
    x, v = tt.matrix("x"), tt.matrix("v")
    known = tt.specify_shape(x, (2, 3))
    loops = tt.scan(lambda row, total: tt.tanh(row + total), known, tt.zeros(3), return_updates=False)
    f = function([x, v], [tt.pushforward(loops, known, v), tt.pullback(loops, known, v)], mode="VM")
    tangents = f(np.zeros((2, 3)), np.ones((2, 3)))
    assert tangents[0].tolist() == [[1, 1, 1], [2, 2, 2]]
    assert tangents[1].tolist() == [[2, 2, 2], [1, 1, 1]]
    with pytest.raises(tt.ShapeError):
        f(np.zeros((2, 3)), np.ones((2, 1)))


def test_a_direction_of_another_length_is_refused_at_once() -> None:
    x = tt.tensor("x", dtype="float64", shape=(3,))
    with pytest.raises(tt.ShapeError, match=r"shape \(4,\)"):
        tt.pushforward(x**2, x, tt.ones(4))
