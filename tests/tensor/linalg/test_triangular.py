"""Triangular systems: what is read, failures, edges, and errors of ill-conditioned ones."""

from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import linalg as scipy_linalg

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.tensor.linalg import solve_triangular

rng = np.random.default_rng(22)
MODES = ("VM", "C", "JAX", "PYTORCH")
# For what records check on the others.
FEW = ("VM", "C")


def run(mode: str, *outs: Any) -> Any:
    with config.change_flags(torch__compile=False):
        return function([], list(outs), mode=mode)()


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_all_ways_of_solving_are_those_of_scipy(dtype: str) -> None:
    a = (rng.normal(size=(4, 4)) + 4 * np.eye(4) + (1j if dtype == "complex128" else 0)).astype(dtype)
    b = rng.normal(size=(4, 2)).astype(dtype)
    ways = list(product((0, 1, 2, "N", "T", "C"), (False, True), (False, True), (b, b[:, 0], b[:, :0])))
    expected = [scipy_linalg.solve_triangular(a, y, *way) for *way, y in ways]
    for solution, wanted in zip(run("VM", *(solve_triangular(a, y, *way) for *way, y in ways)), expected, strict=True):
        assert solution.dtype == wanted.dtype
        np.testing.assert_allclose(solution, wanted, rtol=1e-4 if dtype == "float32" else 1e-11)


@pytest.mark.parametrize("mode", FEW)
def test_stacks_broadcast_with_each_other_and_with_vectors(mode: str) -> None:
    a, b = rng.normal(size=(3, 4, 4)) + 4 * np.eye(4), rng.normal(size=(2, 1, 4, 5))
    whole, vector, vectors, none = run(
        mode,
        solve_triangular(a, b),
        solve_triangular(a, b[0, 0, :, 0]),
        solve_triangular(a[0], b[0, 0].T, b_ndim=1),
        solve_triangular(np.zeros((2, 0, 0)), np.zeros((0, 3))),
    )
    up = np.triu(a)
    np.testing.assert_allclose(whole, np.linalg.solve(up, b), rtol=1e-11)
    np.testing.assert_allclose(vector, np.linalg.solve(up, b[0, 0, :, :1])[..., 0], rtol=1e-11)
    np.testing.assert_allclose(vectors, np.linalg.solve(up[0], b[0, 0]).T, rtol=1e-11)
    assert none.shape == (2, 0, 3)


@pytest.mark.parametrize("mode", FEW)
def test_what_is_not_read_may_be_anything(mode: str) -> None:
    a = np.triu(rng.normal(size=(3, 3)) + 3 * np.eye(3))
    below = a + np.tril(np.full((3, 3), np.nan), -1)
    unit = below.copy()
    np.fill_diagonal(unit, [0.0, np.nan, np.inf])
    solution, unit_solution = run(mode, solve_triangular(below, a), solve_triangular(unit, a, unit_diagonal=True))
    np.testing.assert_allclose(solution, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(unit_solution, scipy_linalg.solve_triangular(a, a, unit_diagonal=True), rtol=1e-11)


@pytest.mark.parametrize("mode", MODES)
def test_singular_systems_are_nan_alone_or_raise(mode: str) -> None:
    a = np.stack([np.eye(3), np.diag([1.0, 0.0, 1.0]), np.diag([1.0, np.inf, 1.0])])
    (x,) = run(mode, solve_triangular(a, np.ones(3)))
    assert np.isnan(x).all(axis=1).tolist() == [False, True, True]
    np.testing.assert_array_equal(x[0], np.ones(3))
    with pytest.raises(np.linalg.LinAlgError, match=r"SolveTriangular.*matrix \[1\] .*element 1 .*test_triangular.py"):
        run(mode, solve_triangular(a, np.ones(3), on_error="raise"))


def test_no_gradient_flows_to_what_is_not_read() -> None:
    a = tt.tensor("a", dtype="float64", shape=(3, 3))
    ways = list(product((True, False), (True, False)))
    slopes = [
        tt.grad(tt.sum(solve_triangular(a, np.ones(3), lower=lower, unit_diagonal=unit)), a) for lower, unit in ways
    ]
    gradients = function([a], slopes, mode="VM")(rng.normal(size=(3, 3)) + 2)
    for (lower, unit), slope in zip(ways, gradients, strict=True):
        read = np.tri(3, k=-int(unit), dtype=bool)
        np.testing.assert_array_equal(slope != 0, read if lower else read.T)


# Errors of the elements against 60 digits, relative to the largest one; a graded matrix has a small one of each.
@pytest.mark.parametrize(("name", "bound"), [("hilbert", 5e-14), ("kahan", 2e-12), ("graded", 1e-15)])
def test_errors_of_ill_conditioned_systems_stay_within_bounds(name: str, bound: float) -> None:
    a = {
        "hilbert": scipy_linalg.cholesky(scipy_linalg.hilbert(8)),
        "kahan": 0.8 ** np.arange(20)[:, None] * (np.eye(20) - 0.6 * np.triu(np.ones((20, 20)), 1)),
        "graded": 10.0 ** -np.arange(0.0, 18, 3)[:, None] * np.triu(1 + rng.random((6, 6))),
    }[name]
    b = a @ np.ones(len(a))
    with mpmath.workdps(60):
        exact = np.array(mpmath.lu_solve(mpmath.matrix(a.tolist()), mpmath.matrix(b.tolist())).tolist(), float)[:, 0]
    for mode in ("VM", "C"):
        (solution,) = run(mode, solve_triangular(a, b))
        assert np.abs(solution - exact).max() / np.abs(exact).max() <= bound


def test_wrong_arguments_are_refused_by_name() -> None:
    for trans in ("X", 3, 0.5, None):
        with pytest.raises(ValueError, match="trans must be 0, 1, 2"):
            solve_triangular(np.eye(2), np.ones(2), trans)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ValueError, match="lengths m"):
        solve_triangular(np.eye(2), np.ones(3))
    with pytest.raises(ValueError, match="on_error"):
        solve_triangular(np.eye(2), np.ones(2), on_error="no")
