"""Minima and roots of expressions, and their gradients."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy

import treadle.tensor as tt
from treadle.compile import function, get_mode
from treadle.graph import LoweringError, shared, vectorize_graph
from treadle.tensor.optimize import Optimum, fixed_point, minimize, minimize_scalar, root, root_scalar


def slope_by_differences(f: Any, at: float, step: float = 1e-4) -> Any:
    return (f(at + step) - f(at - step)) / (2 * step)


@pytest.mark.parametrize("mode", ["VM", "FAST_RUN"])
def test_minimum_of_a_scalar_moves_with_what_it_depends_on(mode: str) -> None:
    x, a, c = tt.dscalar("x"), tt.dscalar("a"), tt.dscalar("c")
    best, success = minimize_scalar((x - 5 * a * c) ** 2, x)
    by_a, by_c = tt.grad(best, [a, c])
    values = function([x, a, c], [best, success, by_a, by_c], mode=mode)(0.0, 2.0, 3.0)
    assert values[1]
    assert [float(v) for v in (values[0], *values[2:])] == pytest.approx([30.0, 15.0, 10.0])


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
    solution, success = root_scalar(x**2 - a, x, method=method, jac=jac, hess=hess, optimizer_kwargs=kwargs)
    slope = tt.grad(solution, a)
    values = function([x, a], [solution, success, slope, tt.grad(slope, a)])(1.0, 2.0)
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


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
@pytest.mark.parametrize("method", ["brentq", "bisect", "ridder"])
def test_a_bracket_without_a_change_of_sign_fails_in_one_way(method: str, mode: str) -> None:
    s = tt.dscalar("s")
    chosen = get_mode("FAST_RUN") if mode == "C" and method == "ridder" else mode
    solution, success = root_scalar(s**2 + 1, s, method=method, optimizer_kwargs={"bracket": (-1.0, 1.0)})
    values = function([s], [solution, success], mode=chosen, on_unused_input="ignore")(0.5)
    assert np.isnan(values[0])
    assert not values[1]


@pytest.mark.parametrize("search", [minimize, minimize_scalar, root, root_scalar])
def test_method_that_scipy_does_not_have_is_refused_when_it_is_given(search: Any) -> None:
    s = tt.dscalar("s")
    with pytest.raises(tt.ArgumentError, match=f"^{search.__name__}: method must be one of .*, got 'foo'"):
        search(s**2 - 1, s, method="foo")


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
    minima, done = vectorize_graph([best, success], {x: starts, a: goals})
    values = function([starts, goals], [minima, done])(np.zeros((3, 2)), [1.0, 2.0, 3.0])
    assert values[0] == pytest.approx(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]), abs=1e-5)
    assert values[1].tolist() == [True, True, True]


# Searches as loops of ops

LOOPS = get_mode("VM").including("search_as_loop")
ROSENBROCK = [
    ("BFGS", False), ("L-BFGS-B", False), ("CG", False), ("Newton-CG", True), ("trust-exact", True), ("dogleg", True),
]  # fmt: skip


@pytest.mark.parametrize(("method", "hess"), ROSENBROCK)
def test_minimum_found_by_a_loop_is_that_of_scipy(method: str, hess: bool) -> None:
    x, a = tt.dvector("x"), tt.dscalar("a")
    rosenbrock = (100 * (x[1:] - a * x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
    best, success = minimize(rosenbrock, x, method=method, hess=hess, optimizer_kwargs={"tol": 1e-7})
    find = function([x, a], [best, success], mode=LOOPS)
    assert not any(isinstance(node.op, Optimum) for node in find.maker.fgraph.apply_nodes)
    value, success_there = find([0.5, 0.5, -1.0], 1.1)

    def cost(x: Any) -> Any:
        return (100 * (x[1:] - 1.1 * x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    assert success_there
    wanted = scipy.optimize.minimize(cost, [0.5, 0.5, -1.0], tol=1e-12, method="Nelder-Mead", options={"maxiter": 9999})
    assert value == pytest.approx(wanted.x, abs=1e-4)


@pytest.mark.parametrize(("method", "kwargs"), [
    ("secant", {}), ("newton", {}), ("halley", {}), ("brentq", {"bracket": (0.0, 5.0)}),
    ("bisect", {"bracket": (0.0, 5.0)}), ("secant", {"x1": 4.0, "maxiter": 80}),
])  # fmt: skip
def test_root_found_by_a_loop_is_that_of_scipy(method: str, kwargs: dict[str, object]) -> None:
    x, a = tt.dscalar("x"), tt.dscalar("a")
    zero = x**3 - a * tt.exp(-x)
    solution, success = root_scalar(zero, x, method=method, jac=True, hess=method == "halley", optimizer_kwargs=kwargs)
    values = function([x, a], [solution, success], mode=LOOPS, on_unused_input="ignore")(1.0, 2.0)
    assert values[1]
    assert float(values[0]) == pytest.approx(scipy.optimize.brentq(lambda x: x**3 - 2 * np.exp(-x), 0, 5), abs=1e-8)


@pytest.mark.parametrize(
    ("method", "kwargs"), [("brent", {}), ("brent", {"bracket": (0.0, 1.0)}), ("bounded", {"bounds": (1.0, 9.0)})]
)
def test_minimum_of_a_scalar_found_by_a_loop_is_that_of_scipy(method: str, kwargs: dict[str, Any]) -> None:
    x, a = tt.dscalar("x"), tt.dscalar("a")
    best, success = minimize_scalar((x - a) ** 2 + tt.cos(x), x, method=method, optimizer_kwargs=kwargs)
    values = function([x, a], [best, success], mode=LOOPS, on_unused_input="ignore")(0.0, 6.0)
    wanted = scipy.optimize.minimize_scalar(lambda x: (x - 6) ** 2 + np.cos(x), method=method, **kwargs)
    assert values[1]
    assert float(values[0]) == pytest.approx(wanted.x, abs=1e-5)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_roots_found_by_a_loop_are_those_of_scipy(method: str) -> None:
    x, a = tt.dvector("x"), tt.dscalar("a")
    solution, success = root(tt.stack([x[0] + x[1] ** 2 - a, x[0] * x[1] - 1.0]), x, method=method)
    value, success_value = function([x, a], [solution, success], mode=LOOPS)([1.0, 1.0], 3.0)
    wanted = scipy.optimize.root(lambda x: [x[0] + x[1] ** 2 - 3, x[0] * x[1] - 1], [1.0, 1.0]).x
    assert success_value
    assert value == pytest.approx(wanted, abs=1e-8)


def test_a_loop_that_finds_no_root_says_so() -> None:
    x = tt.dscalar("x")
    v = tt.dvector("v")
    for method, kwargs in (("newton", {}), ("bisect", {"bracket": (0.0, 1.0)}), ("brentq", {"bracket": (0.0, 1.0)})):
        _, success = root_scalar(x**2 + 1, x, method=method, jac=True, optimizer_kwargs=kwargs)
        assert not function([x], success, mode=LOOPS, on_unused_input="ignore")(0.7)
    _, success = root(v**2 + 1, v)
    assert not function([v], success, mode=LOOPS)([0.7, 3.0])


def test_derivatives_of_a_failed_search_are_finite() -> None:
    x, a = tt.dscalar("x"), tt.dscalar("a")
    v = tt.dvector("v")
    best, success = root_scalar(
        x**2 + a, x, method="newton", jac=True, optimizer_kwargs={"maxiter": 1, "options": {"disp": False}}
    )
    root_of_v, converged = root(v**2 + a, v)
    values = function([x, v, a], [success, tt.grad(best, a), converged, tt.grad(root_of_v.sum(), a)], mode=LOOPS)(
        0.5, [0.5, 1.0], 1.0
    )
    assert not values[0]
    assert not values[2]
    assert np.isfinite(values[1])
    assert np.isfinite(values[3])


def test_the_expression_is_compiled_by_the_backend_of_the_function() -> None:
    x, a = tt.dvector("x"), tt.dscalar("a")
    best, _ = minimize(((x - a) ** 2).sum(), x)
    find = function([x, a], best, mode="FAST_RUN")
    program: Any = find.vm
    steps = [node.op for node in program.fgraph.apply_nodes if isinstance(node.op, Optimum)]
    assert [type(op.fn).__name__ for op in steps] == ["CProgram"]
    again = pickle.loads(pickle.dumps(find))
    assert again([0.0, 0.0], 2.0) == pytest.approx([2.0, 2.0])


def test_solutions_move_in_forward_mode_as_they_do_in_reverse() -> None:
    x, a = tt.dvector("x"), tt.dvector("a")
    solution, _ = root(x**3 + x - a * x[::-1], x)
    ahead = tt.pushforward(solution, a, tt.as_tensor([1.0, 0.0]))
    back = tt.jacobian(solution, a)[:, 0]
    values = function([x, a], [ahead, back])([1.0, 1.0], [2.0, 3.0])
    assert values[0] == pytest.approx(values[1])


def test_third_derivative_of_a_solution() -> None:
    x, a = tt.dscalar("x"), tt.dscalar("a")
    solution, _ = root_scalar(x**2 - a, x, method="newton", jac=True)
    slope = solution
    for _ in range(3):
        slope = tt.grad(slope, a)
    assert float(function([x, a], slope)(1.0, 2.0)) == pytest.approx(3 / 8 * 2**-2.5)


# Fixed points


@pytest.mark.parametrize("mode", ["VM", "FAST_RUN"])
@pytest.mark.parametrize("method", ["iteration", "del2"])
def test_fixed_point_of_a_scalar_and_its_derivatives(method: str, mode: str) -> None:
    a = tt.dscalar("a")
    x, success = fixed_point(lambda x: tt.cos(a * x), 1.0, method=method)
    slope = tt.grad(x, a)
    values = function([a], [x, success, slope, tt.grad(slope, a), tt.pushforward(x, a, tt.constant(1.0))], mode=mode)(
        1.0
    )
    assert [float(v) for v in values] == pytest.approx(
        [0.7390851332, 1.0, -0.2974743415, 0.1533378913, -0.2974743415], abs=1e-7
    )


def test_fixed_point_of_a_vector_needs_no_jacobian() -> None:
    w, b = tt.dmatrix("w"), tt.dvector("b")
    x, success = fixed_point(lambda x: tt.tanh(w @ x + b), tt.zeros(3))
    find = function([w, b], [x, success, *tt.grad((x**2).sum(), [w, b])])
    rng = np.random.default_rng(0)
    matrix, vector = rng.normal(size=(3, 3)) * 0.3, rng.normal(size=3)
    value, has_converged, by_w, by_b = find(matrix, vector)
    assert has_converged
    assert value == pytest.approx(np.tanh(matrix @ value + vector), abs=1e-7)
    slope = np.eye(3) - (1 - value**2)[:, None] * matrix
    weight = np.linalg.solve(slope.T, 2 * value) * (1 - value**2)
    assert by_b == pytest.approx(weight, abs=1e-6)
    assert by_w == pytest.approx(np.outer(weight, value), abs=1e-6)


def test_fixed_point_of_several_tensors_keeps_their_form() -> None:
    a = tt.fscalar("a")
    start = (tt.zeros(2, dtype="float32"), tt.zeros(1, dtype="float32"))
    (u, v), success = fixed_point(lambda u, v: (tt.cos(u + v) * a, u[:1] / 4), start)
    values = function([a], [u, v, success, tt.grad(u.sum(), a)])(0.5)
    assert [x.dtype for x in values] == ["float32", "float32", "bool", "float32"]
    assert values[0] == pytest.approx(np.cos(values[0] * 5 / 4) / 2, abs=1e-5)
    assert values[1] == pytest.approx(values[0][:1] / 4, abs=1e-5)


def test_fixed_point_that_does_not_exist_is_not_found() -> None:
    a = tt.dscalar("a")
    x, success = fixed_point(lambda x: x * x + a, 1.0, maxiter=50)
    value, has_converged, slope = function([a], [x, success, tt.grad(x, a)])(2.0)
    assert not has_converged
    assert not np.isfinite(value)
    assert slope == 0


def test_fixed_points_of_a_batch() -> None:
    a, many = tt.dscalar("a"), tt.dvector("many")
    x, _ = fixed_point(lambda x: (x + a / x) / 2, 1.0)
    assert function([many], vectorize_graph(x, {a: many}))([4.0, 9.0]) == pytest.approx([2.0, 3.0])


def test_bad_functions_of_fixed_points_are_refused() -> None:
    with pytest.raises(TypeError, match="must be of a float dtype"):
        fixed_point(lambda x: x, 1)
    with pytest.raises(ValueError, match="method must be iteration or del2"):
        fixed_point(lambda x: x, 1.0, method="anderson")
    with pytest.raises(ValueError, match="Return the same rank and dtype"):
        fixed_point(lambda x: x * tt.ones(2), 1.0)
    with pytest.raises(ValueError, match=r"takes the shape \(3,\) and returns \(1,\)"):
        fixed_point(lambda x: x[:1], tt.zeros(3))
    with pytest.raises(ValueError, match="must be positive"):
        fixed_point(lambda x: x, 1.0, maxiter=0)


def test_methods_without_the_form_of_a_loop_are_refused_by_name() -> None:
    pytest.importorskip("jax")
    x = tt.dvector("x")
    best, _ = minimize((x**2).sum(), x, method="Nelder-Mead", jac=False)
    with pytest.raises(LoweringError, match=r"no form without Python by the method Nelder-Mead\nTake one of .* bfgs"):
        function([x], best, mode="JAX")
    best, _ = minimize((x**2).sum(), x, method="L-BFGS-B", optimizer_kwargs={"bounds": [(0.0, 1.0)]})
    with pytest.raises(LoweringError, match="no form without Python for bounds"):
        function([x], best, mode="JAX")


def test_constants_and_equal_parameters_are_inside_of_a_search() -> None:
    x, a = tt.dvector("x"), tt.dscalar("a")
    twice = a + tt.constant(0.0)
    solution, _ = minimize(((x - a) ** tt.constant(2) + (x - twice) ** 2 + tt.exp(tt.constant(1.0))).sum(), x)
    f = function([a], [solution, tt.grad(solution.sum(), a)], givens={x: np.zeros(2)}, mode="VM")
    (search,) = (node for node in f.maker.fgraph.apply_nodes if isinstance(node.op, Optimum))
    assert len(search.inputs) == 2
    best, slope = f(3.0)
    np.testing.assert_allclose(best, [3.0, 3.0], rtol=1e-6)
    np.testing.assert_allclose(slope, 2.0, rtol=1e-6)


def test_parameters_may_be_shared_and_occur_several_times() -> None:
    x, w = tt.dvector("x"), shared(np.array([1.0, 2.0]), name="w")
    best, success = minimize(((x - w) ** 2).sum() + ((x - w[::-1]) ** 2).sum(), x)
    find = function([x], [best, success, tt.grad((best * w).sum(), w)])
    assert find([0.0, 0.0])[0] == pytest.approx([1.5, 1.5], abs=1e-6)
    w.set_value(np.array([3.0, 5.0]))
    value, has_converged, slope = find([0.0, 0.0])
    assert has_converged
    assert value == pytest.approx([4.0, 4.0], abs=1e-6)
    assert slope == pytest.approx([8.0, 8.0], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["C", "NUMBA", "JAX", "PYTORCH"])
def test_searches_and_their_derivatives_on_every_backend(mode: str) -> None:
    x, y, a = tt.dvector("x"), tt.dscalar("y"), tt.dscalar("a")
    best, success = minimize(((x - a) ** 4).sum() + ((x - 2) ** 2).sum(), x)
    zero, zero_success = root_scalar(y**3 - a, y, method="newton", jac=True)
    point, is_fixed = fixed_point(lambda z: tt.cos(a * z), 1.0)
    outs = [best, tt.grad(best.sum(), a), zero, tt.grad(tt.grad(zero, a), a), point, tt.grad(point, a)]
    values = function([x, y, a], [*outs, success, zero_success, is_fixed], mode=mode)([0.0, 1.0], 1.0, 1.0)
    wanted = function([x, y, a], outs, mode="VM")([0.0, 1.0], 1.0, 1.0)
    assert all(values[len(outs) :])
    for value, expected in zip(values, wanted, strict=False):
        assert value == pytest.approx(expected, abs=1e-4)
