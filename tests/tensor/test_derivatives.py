"""Jacobians, Hessians and products with them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import Apply, NullType, Op
from treadle.tensor import DisconnectedInputError

A = np.array([[1.0, 2.0, -1.0], [0.5, -3.0, 4.0]])
X = np.array([0.3, -1.2, 2.0])


def value(expression: Any, *pairs: tuple[Any, Any]) -> Any:
    compiled = function([x for x, _ in pairs], expression, on_unused_input="ignore", mode="VM")
    return compiled(*(array for _, array in pairs))


def numeric(compute: Callable[[np.ndarray], np.ndarray], x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Return the derivatives by central differences: of the result's shape followed by that of x."""
    moved = [(compute(x + step * e) - compute(x - step * e)) / (2 * step) for e in np.eye(x.size).reshape(-1, *x.shape)]
    return np.moveaxis(np.array(moved), 0, -1).reshape(*np.shape(moved[0]), *x.shape)


def test_jacobian_has_the_shape_of_the_expression_and_of_the_variable() -> None:
    m = tt.dmatrix("m")
    jacobian = value(tt.jacobian(tt.sin(m).T @ m, m), (m, A))
    assert jacobian.shape == (3, 3, 2, 3)
    assert jacobian == pytest.approx(numeric(lambda a: np.sin(a).T @ a, A), abs=1e-7)


def test_jacobian_of_a_scalar_is_the_gradient() -> None:
    x = tt.dvector("x")
    assert value(tt.jacobian((x**3).sum(), x), (x, X)) == pytest.approx(3 * X**2)


def test_jacobian_by_several_variables_comes_in_their_form() -> None:
    x, y = tt.dvector("x"), tt.dscalar("y")
    by_x, by_y = tt.jacobian(x * y, (x, y))
    assert isinstance(tt.jacobian(x * y, (x, y)), tuple)
    assert value(by_x, (x, X), (y, 2.0)) == pytest.approx(2 * np.eye(3))
    assert value(by_y, (x, X), (y, 2.0)) == pytest.approx(X)


def test_jacobian_by_an_unrelated_variable_is_refused_or_zero() -> None:
    x, y = tt.dvectors("x", "y")
    with pytest.raises(DisconnectedInputError):
        tt.jacobian(x**2, y)
    zeros = tt.jacobian(x**2, y, disconnected_inputs="ignore")
    assert value(zeros, (x, X), (y, [1.0, 2.0])).tolist() == np.zeros((3, 2)).tolist()


def test_jacobian_of_nothing_is_empty() -> None:
    x = tt.dvector("x")
    assert value(tt.jacobian(x * 2, x), (x, [])).shape == (0, 0)


def test_hessian_is_that_of_differences() -> None:
    x = tt.dvector("x")
    cost = tt.exp(x[0] * x[1]) + (x**3).sum() * x[2]
    slope = function([x], tt.grad(cost, x))
    assert value(tt.hessian(cost, x), (x, X)) == pytest.approx(numeric(slope, X), abs=1e-6)


def test_hessian_of_a_linear_cost_is_zero() -> None:
    x = tt.dvector("x")
    assert value(tt.hessian((3 * x).sum(), x), (x, X)).tolist() == np.zeros((3, 3)).tolist()


def test_products_with_the_hessian_need_no_matrix() -> None:
    x, p = tt.dvectors("x", "p")
    cost = tt.exp(x).sum() * (x**2).sum()
    product = tt.hessian_vector_product(cost, x, p)
    direction = np.array([1.0, -2.0, 0.5])
    expected = value(tt.hessian(cost, x), (x, X)) @ direction
    assert value(product, (x, X), (p, direction)) == pytest.approx(expected)


def test_products_from_either_side_agree_with_the_jacobian() -> None:
    x, left, right = tt.dvectors("x", "left", "right")
    out = tt.stack([x[0] * x[1], tt.sin(x[2])])
    jacobian = value(tt.jacobian(out, x), (x, X))
    rows, columns = np.array([1.0, -2.0]), np.array([0.5, 2.0, 1.0])
    assert value(tt.pullback(out, x, left), (x, X), (left, rows)) == pytest.approx(rows @ jacobian)
    assert value(tt.Lop(out, x, left), (x, X), (left, rows)) == pytest.approx(rows @ jacobian)
    assert value(tt.pushforward(out, x, right), (x, X), (right, columns)) == pytest.approx(jacobian @ columns)
    assert value(tt.Rop(out, x, right), (x, X), (right, columns)) == pytest.approx(jacobian @ columns)


def test_products_refuse_vectors_that_do_not_fit() -> None:
    x = tt.dvector("x")
    with pytest.raises(ValueError, match="one is needed for each of 1 variables, got 2"):
        tt.pushforward(x**2, x, [x, x])
    with pytest.raises(ValueError, match="rank 2"):
        tt.pullback(x**2, x, tt.dmatrix())
    with pytest.raises(DisconnectedInputError):
        tt.pushforward(tt.dvector("y"), x, x)


def test_gradients_go_through_a_stretch_of_graph() -> None:
    x = tt.dvector("x")
    middle = x**2
    cost = tt.exp(middle).sum()
    (by_middle,), (by_x,) = tt.subgraph_grad([middle], [x], cost=cost)
    assert value(by_middle, (x, X)) == pytest.approx(np.exp(X**2))
    assert value(by_x, (x, X)) == pytest.approx(2 * X * np.exp(X**2))
    with pytest.raises(ValueError, match="Pass cost or start"):
        tt.subgraph_grad([middle], [x])


def test_ops_say_why_there_is_no_derivative() -> None:
    x = tt.dvector("x")
    for missing in (tt.grad_undefined("op", 0, x, "a step"), tt.grad_not_implemented("op", 0, x, "a step")):
        assert isinstance(missing.type, NullType)
        assert "a step" in str(missing.type.why)


FORMS: list[dict[str, Any]] = [
    {"vectorize": vectorize, "forward": forward} for vectorize in (None, True, False) for forward in (False, True)
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_all_ways_to_a_jacobian_agree(form: dict[str, Any]) -> None:
    m, s = tt.dmatrix("m"), tt.dscalar("s")
    by_m, by_s = tt.jacobian(tt.sin(m).T @ (s * m), (m, s), **form)
    jacobian_by_m, jacobian_by_s = value([by_m, by_s], (m, A), (s, 1.5))
    assert jacobian_by_m == pytest.approx(numeric(lambda a: 1.5 * np.sin(a).T @ a, A), abs=1e-7)
    assert jacobian_by_s == pytest.approx(np.sin(A).T @ A)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_ways_to_a_jacobian_take_the_same_arguments(form: dict[str, Any]) -> None:
    x, y = tt.dvectors("x", "y")
    half = x * y
    options: dict[str, Any] = {"disconnected_inputs": "ignore", **form}
    fixed = tt.jacobian(half + x, x, consider_constant=[half], **options)
    assert value(fixed, (x, X), (y, X)) == pytest.approx(np.eye(3))
    assert value(tt.jacobian(x**2, y, **options), (x, X), (y, X[:2])).tolist() == np.zeros((3, 2)).tolist()
    with pytest.raises(DisconnectedInputError):
        tt.jacobian(x**2, y, **form)
    assert value(tt.jacobian(2 * x, x, **options), (x, [])).shape == (0, 0)


def test_an_op_without_a_rule_for_batches_has_a_jacobian() -> None:
    class Halved(Op):
        __props__ = ()

        def make_node(self, x: Any) -> Apply:
            return Apply(self, [x], [x.type()])

        def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
            output_storage[0][0] = inputs[0] / 2

        def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
            return [self(output_grads[0])]

    x = tt.dvector("x")
    y = Halved()(x**2)
    for vectorize in (None, False):
        assert value(tt.jacobian(y, x, vectorize=vectorize), (x, X)) == pytest.approx(np.diag(X))


def test_products_with_the_gauss_newton_matrix_need_no_matrix() -> None:
    w, v = tt.dvectors("w", "v")
    inputs = tt.constant(A)
    outputs = tt.tanh(inputs @ w)
    cost = (tt.exp(outputs) * outputs[0]).sum()
    product = tt.gauss_newton_vector_product(cost, outputs, w, v)
    slopes = tt.jacobian(outputs, w)
    z = tt.dvector("z")
    curvature = tt.hessian((tt.exp(z) * z[0]).sum(), z)
    products, j, at = value([product, slopes, outputs], (w, X), (v, X[::-1]))
    assert products == pytest.approx(j.T @ value(curvature, (z, at)) @ j @ X[::-1])


def test_what_is_constant_stays_so_in_second_derivatives() -> None:
    x, p = tt.dvectors("x", "p")
    fixed = tt.exp(x)
    cost = (fixed * x**2).sum()
    product = tt.hessian_vector_product(cost, x, p, consider_constant=[fixed])
    assert value(product, (x, X), (p, X[::-1])) == pytest.approx(2 * np.exp(X) * X[::-1])
    assert value(tt.hessian(cost, x, consider_constant=[fixed]), (x, X)) == pytest.approx(np.diag(2 * np.exp(X)))
