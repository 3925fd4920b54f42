"""Minima and roots of expressions, and their gradients."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import vectorize_graph
from treadle.tensor.optimize import minimize, minimize_scalar, root, root_scalar


def slope_by_differences(f: Any, at: float, step: float = 1e-4) -> Any:
    return (f(at + step) - f(at - step)) / (2 * step)


@pytest.mark.parametrize("mode", ["VM", "FAST_RUN"])
def test_minimum_of_a_scalar_moves_with_what_it_depends_on(mode: str) -> None:
    x, a, c = tt.dscalar("x"), tt.dscalar("a"), tt.dscalar("c")
    best, success = minimize_scalar((x - 5 * a * c) ** 2, x)
    by_a, by_c = tt.grad(best, [a, c])
    found = function([x, a, c], [best, success, by_a, by_c], mode=mode)(0.0, 2.0, 3.0)
    assert found[1]
    assert [float(v) for v in (found[0], *found[2:])] == pytest.approx([30.0, 15.0, 10.0])


@pytest.mark.parametrize(
    ("method", "hess"), [("BFGS", False), ("trust-ncg", True), ("Newton-CG", True), ("L-BFGS-B", False)]
)
def test_minimum_of_a_vector(method: str, hess: bool) -> None:
    x, a = tt.dvector("x"), tt.dscalar("a")
    rosenbrock = (100 * (x[1:] - a * x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
    best, success = minimize(rosenbrock, x, method=method, hess=hess, optimizer_kwargs={"tol": 1e-10})
    find = function([x, a], [best, tt.grad(best[-1], a)])
    value, slope = find([0.5, 0.5], 1.1)
    assert slope == pytest.approx(slope_by_differences(lambda at: find([0.5, 0.5], at)[0][-1], 1.1), rel=1e-3)
    assert value[0] == pytest.approx(1.0, abs=1e-4)
    assert success.dtype == "bool"


def test_minimum_of_a_matrix_keeps_its_shape() -> None:
    x, target = tt.dmatrix("x"), tt.dmatrix("target")
    best, _ = minimize(((x - target) ** 2).sum(), x)
    goal = np.arange(6.0).reshape(2, 3)
    value, slope = function([x, target], [best, tt.grad((best * target).sum(), target)])(np.zeros((2, 3)), goal)
    assert value == pytest.approx(goal, abs=1e-5)
    assert slope == pytest.approx(2 * goal, abs=1e-5)


@pytest.mark.parametrize(("method", "jac", "hess", "kwargs"), [
    ("secant", False, False, {}), ("newton", True, False, {}), ("halley", True, True, {}),
    ("brentq", False, False, {"bracket": (0.0, 5.0)}),
])  # fmt: skip
def test_root_of_a_scalar(method: str, jac: bool, hess: bool, kwargs: dict[str, object]) -> None:
    x, a = tt.dscalar("x"), tt.dscalar("a")
    found, success = root_scalar(x**2 - a, x, method=method, jac=jac, hess=hess, optimizer_kwargs=kwargs)
    slope = tt.grad(found, a)
    values = function([x, a], [found, success, slope, tt.grad(slope, a)])(1.0, 2.0)
    assert values[1]
    assert [float(values[k]) for k in (0, 2, 3)] == pytest.approx([2**0.5, 0.5 * 2**-0.5, -0.25 * 2**-1.5])


@pytest.mark.parametrize("jac", [True, False])
def test_roots_of_several_equations(jac: bool) -> None:
    x, y, a = tt.dscalar("x"), tt.dvector("y"), tt.dscalar("a")
    (at_x, at_y), success = root([x + y.sum() - a, y - x * tt.as_tensor([1.0, 2.0])], [x, y], jac=jac)
    values = function([x, y, a], [at_x, at_y, success, tt.grad(at_y.sum(), a)])(0.0, [0.0, 0.0], 8.0)
    assert float(values[0]) == pytest.approx(2.0)
    assert values[1] == pytest.approx([2.0, 4.0])
    assert values[2]
    assert float(values[3]) == pytest.approx(0.75)


def test_float32_stays_float32() -> None:
    x, a = tt.fvector("x"), tt.fscalar("a")
    best, _ = minimize(((x - a) ** 2).sum(), x)
    assert best.dtype == "float32"
    value = function([x, a], best)(np.zeros(2, "float32"), np.float32(3.0))
    assert value.dtype == "float32"
    assert value == pytest.approx([3.0, 3.0], rel=1e-3)


def test_a_search_that_fails_says_so() -> None:
    x = tt.dscalar("x")
    _, success = root_scalar(x**2 + 1, x, method="newton", jac=True, optimizer_kwargs={"maxiter": 5})
    assert not success.eval({x: 0.7})


def test_what_cannot_be_searched_is_refused() -> None:
    x, y, n = tt.dvector("x"), tt.dscalar("y"), tt.lscalar("n")
    with pytest.raises(TypeError, match="does not depend on"):
        minimize((x**2).sum(), y)
    with pytest.raises(ValueError, match="a float scalar is needed"):
        minimize(x**2, x)
    with pytest.raises(TypeError, match="must be of a float dtype"):
        root_scalar(n * 1.0, n)
    with pytest.raises(ValueError, match="must be a scalar"):
        minimize_scalar((x**2).sum(), x)
    with pytest.raises(TypeError, match="a tensor variable of the expression is needed"):
        minimize(y, 3)  # type: ignore[arg-type]  # what is refused


def test_searches_of_a_batch_are_made_one_by_one() -> None:
    x, a = tt.dvector("x"), tt.dscalar("a")
    best, success = minimize(((x - a) ** 2).sum(), x)
    starts, goals = tt.dmatrix("starts"), tt.dvector("goals")
    found, done = vectorize_graph([best, success], {x: starts, a: goals})
    values = function([starts, goals], [found, done])(np.zeros((3, 2)), [1.0, 2.0, 3.0])
    assert values[0] == pytest.approx(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]), abs=1e-5)
    assert values[1].tolist() == [True, True, True]
