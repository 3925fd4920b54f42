"""Products over axes and their derivatives of every order, where factors are zero; and the lengths of tensordot."""

from collections.abc import Callable
from itertools import combinations
from itertools import product as cartesian
from math import prod
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import Mode, function
from treadle.config import TreadleError
from treadle.graph import vectorize_graph

X = tt.dvector("x")
DIRECTIONS = [tt.dvector(f"u{i}") for i in range(4)]
UNREWRITTEN = Mode(linker="vm", optimizer=None)
POINTS = {
    "no zero": [2.0, 3.0, -1.5, 0.5, 1.25],
    "one zero": [2.0, 0.0, -1.5, 0.5, 1.25],
    "two zeros": [0.0, 3.0, 0.0, 0.5, 1.25],
    "three zeros": [0.0, 3.0, 0.0, 0.5, -0.0],
    "zeros only": [0.0, 0.0, 0.0, 0.0, 0.0],
    "one element": [0.0],
    "nothing": [],
}


def expected(x: Any, directions: Any) -> Any:
    """Return the gradient of the derivative in some directions: sums over all choices of different elements."""
    result = np.zeros(len(x))
    for at in range(len(x)):
        rest = [i for i in range(len(x)) if i != at]
        for chosen in combinations(rest, len(directions)):
            left = prod(x[i] for i in rest if i not in chosen)
            # The sum over all orders of the elements chosen is the permanent.
            matrix = np.array([[d[i] for i in chosen] for d in directions])
            result[at] += left * permanent(matrix)
    return result


def permanent(matrix: Any) -> float:
    if not len(matrix):
        return 1.0
    return float(sum(matrix[0, j] * permanent(np.delete(matrix[1:], j, axis=1)) for j in range(len(matrix))))


@pytest.fixture(scope="module")
def slopes() -> list[Any]:
    """The gradients of derivatives in more and more directions, compiled."""
    outputs, cost = [], tt.prod(X)
    for direction in DIRECTIONS:
        outputs.append(tt.grad(cost, X, disconnected_inputs="ignore"))
        cost = tt.sum(outputs[-1] * direction)
    return [function([X, *DIRECTIONS], outputs, mode=mode, on_unused_input="ignore") for mode in (UNREWRITTEN, "VM")]


@pytest.mark.parametrize("name", POINTS)
def test_derivatives_up_to_the_fourth_are_right(slopes: list[Any], name: str) -> None:
    x = np.array(POINTS[name])
    directions = list(np.random.default_rng(3).uniform(-2, 2, (len(DIRECTIONS), len(x))))
    for run in slopes:
        for order, derivative in enumerate(run(x, *directions)):
            np.testing.assert_allclose(derivative, expected(x, directions[:order]), rtol=1e-10, atol=1e-10)


def test_second_derivatives_over_axes_are_right_at_zeros() -> None:
    x, u = tt.dmatrix("x"), tt.dmatrix("u")
    second = tt.grad(tt.sum(tt.grad(tt.sum(tt.prod(x, axis=1) ** 2), x) * u), x)
    values = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0]])
    moves = np.arange(9.0).reshape(3, 3)
    # The square of the product is the product of all elements twice.
    derivatives = second.eval({x: values, u: moves})
    for row, move, one in zip(values, moves, derivatives, strict=True):
        twice = expected(np.tile(row, 2), [np.tile(move, 2)])
        np.testing.assert_allclose(one, twice[:3] + twice[3:], rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_derivatives_keep_the_dtype(dtype: str) -> None:
    x = tt.vector("x", dtype=dtype)
    first = tt.grad(abs(tt.prod(x)), x)
    second = tt.grad(tt.sum(abs(first)), x)
    assert [first.dtype, second.dtype] == [dtype, dtype]


def test_product_in_a_wider_dtype_is_differentiated_in_it() -> None:
    x = tt.fvector("x")
    gradient = tt.grad(tt.prod(x, dtype="float64"), x).eval({x: np.array([1e-30, 1e-30, 1e35], "float32")})
    np.testing.assert_allclose(gradient, [1e5, 1e5, 0], rtol=1e-6)


def test_second_derivative_of_a_vectorised_gradient_is_right_at_zeros() -> None:
    u, many, along = tt.dvector("u"), tt.dmatrix("many"), tt.dmatrix("along")
    first = tt.sum(tt.grad(tt.prod(X), X) * u)
    second = tt.grad(tt.sum(vectorize_graph(first, {X: many, u: along})), many)
    values, moves = np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0]]), np.array([[3.0, 2.0, 0.0], [1.0, 2.0, 3.0]])
    derivatives = second.eval({many: values, along: moves})
    np.testing.assert_array_equal(derivatives, [expected(x, [d]) for x, d in zip(values, moves, strict=True)])


def test_product_over_no_axes_passes_gradients_on() -> None:
    np.testing.assert_array_equal(tt.grad(tt.sum(tt.prod(X, axis=())), X).eval({X: np.array([0.0, 2.0])}), [1, 1])


def test_gradient_of_many_factors_takes_memory_for_each_only_once() -> None:
    run = function([X], tt.grad(tt.prod(X), X), mode="VM")
    x = np.ones(200_000)
    x[7] = 0
    np.testing.assert_array_equal(np.flatnonzero(run(x)), [7])


# tensordot

T, U = tt.dtensor3("T"), tt.dtensor3("U")
PAIRS = [[1, 2], [0, 1]]


@pytest.mark.parametrize("mode", [UNREWRITTEN, "VM", "CVM"], ids=["plain", "VM", "CVM"])
@pytest.mark.parametrize("shapes", [((4, 2, 3), (3, 2, 5)), ((4, 1, 6), (2, 3, 5)), ((4, 0, 3), (0, 2, 5))], ids=str)
def test_tensordot_compares_the_lengths_it_sums_over(mode: Any, shapes: Any) -> None:
    run = function([T, U], tt.tensordot(T, U, axes=PAIRS), mode=mode)
    with pytest.raises(ValueError, match=r"shape|length"):
        run(*map(np.ones, shapes))


def test_tensordot_compares_known_lengths_when_built() -> None:
    t, u = tt.tensor(dtype="float64", shape=(4, 2, 3)), tt.tensor(dtype="float64", shape=(3, 2, 5))
    with pytest.raises(tt.ShapeError, match="must be equal, got 2 and 3"):
        tt.tensordot(t, u, axes=PAIRS)


def test_tensordot_of_known_lengths_compares_nothing_when_it_runs() -> None:
    t, u = tt.tensor(dtype="float64", shape=(4, 2, 3)), tt.tensor(dtype="float64", shape=(2, 3, 5))
    run = function([t, u], tt.tensordot(t, u, axes=PAIRS), mode="VM")
    assert {node.op for node in run.maker.fgraph.toposort()} == {tt.Reshape(2), tt.MatMul()}


@pytest.mark.parametrize(
    "axes", [(0, 1, 2), [[0]], [0], ((1,), (0, 1)), ((1, 1), (0, 0)), ((5,), (0,)), 4, "ab", None, 1.5]
)
def test_tensordot_refuses_axes_that_numpy_refuses(axes: Any) -> None:
    with pytest.raises((ValueError, TypeError, IndexError)):
        np.tensordot(np.ones((2, 3, 4)), np.ones((3, 4, 5)), axes=axes)
    with pytest.raises(TreadleError, match="tensordot"):
        tt.tensordot(T, U, axes=axes)


def test_tensordot_refuses_a_number_of_axes_below_zero() -> None:
    with pytest.raises(tt.AxisError, match="-1 axes cannot be summed over"):
        tt.tensordot(T, U, axes=-1)


@pytest.mark.parametrize(
    "axes", [0, 1, np.int64(2), (1, 0), ((-2, -1), (0, 1)), ((), ()), np.array([[1, 2], [0, 1]])], ids=str
)
def test_tensordot_takes_axes_as_numpy_does(axes: Any) -> None:
    # Every dimension has one length, so that all of them can be paired.
    t, u = np.random.default_rng(0).normal(size=(2, 2, 2)), np.arange(8.0).reshape(2, 2, 2)
    np.testing.assert_allclose(tt.tensordot(T, U, axes=axes).eval({T: t, U: u}), np.tensordot(t, u, axes=axes))


@pytest.mark.parametrize("mode", ["CVM", "NUMBA"])
def test_small_matrices_are_multiplied_in_every_order_of_memory(mode: str) -> None:
    a, b = tt.dmatrix("a"), tt.dmatrix("b")
    product = function([a, b], a @ b, mode=mode)
    random = np.random.default_rng(0)
    orders: list[Callable[[Any], Any]] = [
        np.asarray,
        np.asfortranarray,
        lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
        lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    ]
    for m, k, n in np.ndindex(6, 6, 6):  # own loops up to 4, BLAS beyond
        x, y = random.normal(size=(m, k)), random.normal(size=(k, n))
        for left, right in cartesian(orders, orders):
            np.testing.assert_allclose(product(left(x), right(y)), x @ y, rtol=1e-12, atol=1e-13)
