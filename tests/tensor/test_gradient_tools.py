"""Checks by finite differences, values with gradients, functions of parts, and documented names of gradients."""

from typing import Any

import numpy as np
import pytest

import treadle.gradient
import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import AxisError, GradientError, ShapeError, numeric_grad, verify_grad

X = np.array([0.5, -1.5, 2.0])
A = np.arange(6.0).reshape(2, 3)

DOCUMENTED = """
    Lop Rop as_list_or_tuple consider_constant disconnected_grad grad grad_clip grad_not_implemented grad_scale
    grad_undefined hessian hessian_vector_product jacobian mode_not_slow pullback pushforward
    pushforward_through_pullback subgraph_grad undefined_grad verify_grad zero_grad DisconnectedGrad
    DisconnectedInputError DisconnectedType GradClip GradScale GradientError NullTypeGradError UndefinedGrad ZeroGrad
    numeric_grad disconnected_type
"""


@pytest.mark.parametrize("name", DOCUMENTED.split())
def test_documented_name_is_found(name: str) -> None:
    assert getattr(treadle.gradient, name) is not None


def value(expression: Any, *pairs: tuple[Any, Any]) -> Any:
    compiled = function([x for x, _ in pairs], expression, on_unused_input="ignore", mode="VM")
    return compiled(*(array for _, array in pairs))


def test_numeric_gradient_measures_a_symbolic_one() -> None:
    numeric = numeric_grad(lambda x, y: float((x**2 * y).sum()), [X, np.array(3.0)])
    assert numeric.gf[0] == pytest.approx(6 * X, abs=1e-6)
    assert numeric.gf[1] == pytest.approx((X**2).sum(), abs=1e-6)
    argument, position, absolute, relative = numeric.max_err([6 * X + [0, 0.5, 0], (X**2).sum()], 1e-4, 1e-4)
    assert (argument, position) == (0, 1)
    assert absolute == pytest.approx(0.5, abs=1e-5)
    assert relative == pytest.approx(0.5 / 9, abs=1e-2)
    assert numeric_grad(lambda x: float((x**2).sum()), X).gf == pytest.approx(2 * X, abs=1e-6)
    with pytest.raises(ValueError, match="must be of shapes"):
        numeric.abs_rel_errors([X])


def test_a_gradient_of_another_shape_is_found() -> None:
    class Wrong(tt.OpFromGraph):
        pass

    x = tt.dvector("x")
    wrong = Wrong([x], [tt.exp(x)], pullback=lambda _, __, cotangents: [cotangents[0][:1]])
    with pytest.raises(GradientError, match="has shape"):
        verify_grad(wrong, [X], mode="VM")


def test_modes_for_checks_are_not_slow() -> None:
    assert tt.mode_not_slow("FAST_COMPILE") == "FAST_RUN"
    assert tt.mode_not_slow("DebugMode") == "FAST_RUN"
    assert tt.mode_not_slow("JAX") == "JAX"


def test_value_comes_with_the_gradient() -> None:
    x, y = tt.dvectors("x", "y")
    cost, (by_x, by_y) = tt.value_and_grad((x * y).sum(), [x, y])
    assert [v.tolist() for v in value([cost, by_x, by_y], (x, X), (y, 2 * X))] == [
        float((2 * X**2).sum()), (2 * X).tolist(), X.tolist()
    ]  # fmt: skip


def test_results_come_in_the_form_asked_for() -> None:
    assert tt.as_list_or_tuple(True, False, 1) == [1]
    assert tt.as_list_or_tuple(False, True, [1, 2]) == (1, 2)
    assert tt.as_list_or_tuple(False, False, [1]) == 1
    with pytest.raises(ValueError, match="one form is needed for 2 results"):
        tt.as_list_or_tuple(False, False, [1, 2])


def test_what_is_considered_constant_has_a_gradient_of_zero() -> None:
    x = tt.dvector("x")
    assert value(tt.grad((tt.consider_constant(x) * x).sum(), x), (x, X)).tolist() == X.tolist()


# vmap


def test_parts_along_any_axis_are_mapped() -> None:
    m, w = tt.dmatrix("m"), tt.dvector("w")
    by_rows = tt.vmap(tt.dot, in_axes=(0, None))(m, w)
    assert value(by_rows, (m, A), (w, X)) == pytest.approx(A @ X)
    by_columns = tt.vmap(lambda column, scale: [column * scale, scale], in_axes=(-1, 0), out_axes=(1, 0))(m, w)
    columns = value(by_columns, (m, A), (w, X))
    assert columns[0] == pytest.approx(A * X)
    assert columns[1] == pytest.approx(X)
    nested = tt.vmap(tt.vmap(lambda a, b: a * b, in_axes=(None, 0)), in_axes=(0, None))(w, w)
    assert value(nested, (w, X)) == pytest.approx(np.outer(X, X))


def test_what_all_parts_share_is_repeated_or_kept() -> None:
    m, w = tt.dmatrix("m"), tt.dvector("w")
    assert value(tt.vmap(lambda _: w * 2)(m), (m, A), (w, X)).tolist() == [(2 * X).tolist()] * 2
    assert value(tt.vmap(lambda _: w * 2, out_axes=None)(m), (m, A), (w, X)).tolist() == (2 * X).tolist()


def test_gradients_are_mapped() -> None:
    m = tt.dmatrix("m")
    slopes = tt.vmap(lambda row: tt.grad((row**3).sum(), row))(m)
    assert value(slopes, (m, A)) == pytest.approx(3 * A**2)


def test_bad_axes_are_refused() -> None:
    m = tt.matrix("m", shape=(2, 3))
    with pytest.raises(ShapeError, match="in_axes must have an axis for each of 1 tensors"):
        tt.vmap(tt.exp, in_axes=(0, 0))(m)
    with pytest.raises(ShapeError, match="batch of one length, got lengths"):
        tt.vmap(tt.add, in_axes=(0, 1))(m, m)
    with pytest.raises(ShapeError, match="no argument with one"):
        tt.vmap(tt.exp, in_axes=None)(m)
    with pytest.raises(ShapeError, match="differs along the batch"):
        tt.vmap(tt.exp, out_axes=None)(m)
    with pytest.raises(AxisError):
        tt.vmap(tt.exp, in_axes=2)(m)
