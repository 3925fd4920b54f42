"""Matrix equations: without a solution, at edge cases, and their derivatives."""

from functools import partial

import numpy as np
import pytest
from scipy import linalg

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.testing import verify_grad

vm = partial(function, mode="VM")
rng = np.random.default_rng(3)


# More unknowns than JAX solves in one linear system.
@pytest.mark.parametrize("mode", ["VM", "C", "JAX", "PYTORCH"])
def test_sylvester_equations_without_a_solution_have_nan_beside_others(mode: str) -> None:
    a, b, q = rng.normal(size=(4, 13, 13)), rng.normal(size=(12, 12)), rng.normal(size=(1, 13, 12))
    a[1, 2, 3] = np.nan
    # Far from diagonalizable, and an eigenvalue of A the negative of one of B.
    a[2] = np.eye(13) * 10 + np.eye(13, k=1)
    a[3] = np.diag(np.arange(1.0, 14.0))
    b[5:, 4], b[4, 5:], b[4, 4], b[:4, 4], b[4, :4] = 0, 0, -3, 0, 0
    with config.change_flags(torch__compile=False):
        x = function([], tt.linalg.solve_sylvester(a, b, q), mode=mode)()
    for i in (0, 2):
        np.testing.assert_allclose(x[i], linalg.solve_sylvester(a[i], b, q[0]), rtol=1e-9, atol=1e-11)
    assert np.isnan(x[1]).all()
    assert np.isnan(x[3]).all()


@pytest.mark.parametrize("mode", ["VM", "C", "JAX", "PYTORCH"])
def test_a_sylvester_equation_that_has_no_solution_is_an_error_if_wanted(mode: str) -> None:
    a, b = np.stack([np.eye(2), -np.eye(2)]), np.eye(2)
    with config.change_flags(torch__compile=False):
        f = function([], tt.linalg.solve_sylvester(a, b, np.ones((2, 2)), on_error="raise"), mode=mode)
    with pytest.raises(np.linalg.LinAlgError, match=r"matrix \[1\] of the batch"):
        f()


def test_equations_for_matrices_of_no_elements_have_such_solutions() -> None:
    assert tt.linalg.solve_sylvester(np.ones((0, 0)), np.ones((2, 2)), np.ones((0, 2))).eval().shape == (0, 2)
    assert tt.linalg.solve_continuous_lyapunov(np.ones((3, 0, 0)), np.ones((0, 0))).eval().shape == (3, 0, 0)


def test_lengths_that_do_not_fit_an_equation_are_refused() -> None:
    with pytest.raises(tt.ShapeError):
        tt.linalg.solve_sylvester(np.ones((2, 2)), np.ones((3, 3)), np.ones((3, 2)))
    with pytest.raises(tt.ShapeError):
        tt.linalg.solve_continuous_lyapunov(np.ones((2, 3)), np.ones((2, 2)))


def test_a_complex_lyapunov_equation_is_that_of_scipy() -> None:
    a = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    q = rng.normal(size=(3, 3))
    x = tt.linalg.solve_continuous_lyapunov(a, q)
    assert x.dtype == "complex128"
    np.testing.assert_allclose(x.eval(), linalg.solve_continuous_lyapunov(a, q), rtol=1e-11)


@pytest.mark.parametrize("method", ["bilinear", "direct", None])
def test_a_discrete_lyapunov_equation_is_that_of_scipy(method: str | None) -> None:
    a, q = rng.normal(size=(2, 1, 3, 3)) / 3, rng.normal(size=(4, 3, 3))
    x = vm([], tt.linalg.solve_discrete_lyapunov(a, q, method))()
    assert x.shape == (2, 4, 3, 3)
    np.testing.assert_allclose(x[1, 2], linalg.solve_discrete_lyapunov(a[1, 0], q[2]), rtol=1e-10)


@pytest.mark.parametrize("method", ["bilinear", "direct"])
def test_a_discrete_lyapunov_equation_without_a_solution_has_nan(method: str) -> None:
    a = np.array([[2.0, 0], [0, 0.5]])
    assert np.isnan(tt.linalg.solve_discrete_lyapunov(a, np.eye(2), method).eval()).all()
    with pytest.raises(tt.ShapeError):
        tt.linalg.solve_discrete_lyapunov(a, np.eye(3), method)
    with pytest.raises(tt.ArgumentError):
        tt.linalg.solve_discrete_lyapunov(a, a, "fast")


SYSTEMS = rng.normal(size=(3, 4, 4)), rng.normal(size=(4, 2)), np.diag([1.0, 0, 0, 2]), np.eye(2) * 0.1


# The sign of a matrix finds it elsewhere: with an unstable A that Q does not see, too, and no solution in the middle.
@pytest.mark.parametrize("mode", ["VM", "JAX", "PYTORCH"])
@pytest.mark.parametrize("time", ["discrete", "continuous"])
def test_riccati_equations_have_the_stabilizing_solution_or_nan(mode: str, time: str) -> None:
    a, b, q, r = SYSTEMS
    a = np.stack([a[0], np.eye(4) if time == "discrete" else np.zeros((4, 4)), a[2] * 3])
    q = np.stack([q, q, 0 * q])
    ours, scipys = (getattr(of, f"solve_{time}_are") for of in (tt.linalg, linalg))
    with config.change_flags(torch__compile=False):
        x = function([], ours(a, b, q, r), mode=mode)()
    assert np.isnan(x[1]).all()
    for i in (0, 2):
        np.testing.assert_allclose(x[i], scipys(a[i], b, q[i], r), rtol=1e-9, atol=1e-10)


def test_second_derivatives_of_riccati_equations_fit_differences() -> None:
    a, b, q, r = SYSTEMS
    for solve in (tt.linalg.solve_discrete_are, tt.linalg.solve_continuous_are):
        weights = tt.constant(rng.normal(size=(4, 4)))
        verify_grad(
            lambda m, s=solve, w=weights: tt.grad((s(m, b, q, r) * w).sum(), m), [a[0]], n_tests=1, mode="VM"
        )  # fmt: skip


def test_generalised_riccati_equations_hold() -> None:
    a, b, q, r = SYSTEMS
    e, s = np.eye(4) + rng.normal(size=(4, 4)) / 10, rng.normal(size=(4, 2)) / 100
    q = q + np.eye(4)
    x = tt.linalg.solve_discrete_are(a[0], b, q, r, e, s).eval()
    gain = np.linalg.solve(r + b.T @ x @ b, b.T @ x @ a[0] + s.T)
    np.testing.assert_allclose(a[0].T @ x @ a[0] - e.T @ x @ e + q, (a[0].T @ x @ b + s) @ gain, atol=1e-11)
    x = tt.linalg.solve_continuous_are(a[0], b, q, r, e, s).eval()
    gain = np.linalg.solve(r, b.T @ x @ e + s.T)
    np.testing.assert_allclose(e.T @ x @ a[0] + a[0].T @ x @ e + q, (e.T @ x @ b + s) @ gain, atol=1e-11)


def test_equations_of_partly_known_lengths_run_where_they_are_put_together() -> None:
    a, b, q, r = SYSTEMS
    x = tt.dtensor3("x")
    root = tt.linalg.sqrtm(tt.specify_shape(x, (None, 4, None)) + 9 * np.eye(4))
    f = function([x], [tt.linalg.solve_discrete_are(x, b, q, r), root], mode="C")
    solution, roots = f(a)
    np.testing.assert_allclose(solution[1], linalg.solve_discrete_are(a[1], b, q, r), rtol=1e-9)
    np.testing.assert_allclose(roots[1], linalg.sqrtm(a[1] + 9 * np.eye(4)), rtol=1e-10, atol=1e-12)
