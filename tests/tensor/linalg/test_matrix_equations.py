"""Equations for matrices: where they have no solution, at edges, and their derivatives."""

from functools import partial

import numpy as np
import pytest
from scipy import linalg

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config

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
