"""Banded and tridiagonal systems: what is read, failures, and edges."""

from typing import Any

import numpy as np
import pytest
from scipy import linalg as scipy_linalg

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.tensor import linalg

rng = np.random.default_rng(23)
MODES = ("VM", "C")


def run(mode: str, *outs: Any) -> Any:
    with config.change_flags(torch__compile=False):
        return function([], list(outs), mode=mode)()


def banded(lower: int, upper: int, n: int) -> tuple[Any, Any]:
    """Return a matrix, and its diagonals with NaN outside of it."""
    a = np.triu(np.tril(rng.normal(size=(n, n)), upper), -lower) + 4 * np.eye(n)
    ab = np.full((lower + upper + 1, n), np.nan)
    for k, j in np.ndindex(*ab.shape):
        if 0 <= j + k - upper < n:
            ab[k, j] = a[j + k - upper, j]
    return a, ab


@pytest.mark.parametrize("mode", MODES)
def test_diagonals_of_any_number_and_length_make_a_system_and_places_outside_are_not_read(mode: str) -> None:
    sizes = [(1, 1, 5), (2, 0, 4), (0, 2, 4), (0, 0, 3), (3, 2, 2), (1, 1, 1), (2, 1, 0)]
    systems = [(lower, upper, *banded(lower, upper, n)) for lower, upper, n in sizes]
    solutions = run(mode, *(linalg.solve_banded((low, up), ab, a[:, :2]) for low, up, a, ab in systems))
    for (_, _, a, _), x in zip(systems, solutions, strict=True):
        np.testing.assert_allclose(x, np.eye(len(a))[:, :2], atol=1e-13)


@pytest.mark.parametrize("lower", [True, False])
def test_hermitian_systems_are_those_of_scipy(lower: bool) -> None:
    ab = 0.3 * (rng.normal(size=(3, 5)) + 1j * rng.normal(size=(3, 5)))
    ab[0 if lower else 2] = 4 + rng.random(5)
    b = rng.normal(size=5)
    solution = linalg.solveh_banded(ab, b, lower=lower)
    assert solution.dtype == "complex128"
    np.testing.assert_allclose(solution.eval(), scipy_linalg.solveh_banded(ab, b, lower=lower), rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_what_fails_is_nan_alone_or_raises(mode: str) -> None:
    ab = np.ones((3, 3, 4))
    ab[:, 1] = 4
    ab[1] = 0
    ab[2, 1, 2] = np.inf
    general, hermitian = run(
        mode, linalg.solve_banded((1, 1), ab, np.ones(4)), linalg.solveh_banded(ab[:, 1:], np.ones(4), lower=True)
    )
    for x in (general, hermitian):
        assert np.isnan(x).all(axis=1).tolist() == [False, True, True]
        assert np.isfinite(x[0]).all()
    with pytest.raises(np.linalg.LinAlgError, match=r"matrix \[1\] .*ingular.*test_banded.py"):
        run(mode, linalg.solve_banded((1, 1), ab, np.ones(4), on_error="raise"))
    with pytest.raises(np.linalg.LinAlgError, match=r"not positive definite.*test_banded.py"):
        run(mode, linalg.solveh_banded(-ab[0, 1:], np.ones(4), on_error="raise"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_tridiagonal_factors_of_any_length_solve_both_systems(mode: str, n: int) -> None:
    # The last one exchanges all rows.
    a = np.triu(np.tril(rng.normal(size=(3, n, n)), 1), -1)
    a[2] = np.eye(n) * 0.1 + np.eye(n, k=-1) + np.eye(n, k=1)
    b = rng.normal(size=(n, 2))
    factors = linalg.tridiagonal_lu_factor(a)
    assert [x.dtype for x in factors] == ["float64"] * 4 + ["int32"]
    x, y, z = run(
        mode,
        linalg.tridiagonal_lu_solve(factors, b, b_ndim=2),
        linalg.tridiagonal_lu_solve(factors, b, b_ndim=2, transposed=True),
        linalg.tridiagonal_lu_solve(factors, b[:, 0], b_ndim=1),
    )
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-9)
    np.testing.assert_allclose(y, np.linalg.solve(a.swapaxes(-1, -2), b), rtol=1e-9)
    np.testing.assert_allclose(z, x[..., 0], rtol=1e-9)


def test_tridiagonal_factors_are_those_of_lapack() -> None:
    a = np.triu(np.tril(rng.normal(size=(6, 6)) + 1j * rng.normal(size=(6, 6)), 1), -1)
    expected = scipy_linalg.lapack.zgttrf(*(a.diagonal(k) for k in (-1, 0, 1)))[:5]
    for factor, wanted in zip(run("VM", *linalg.tridiagonal_lu_factor(a)), expected, strict=True):
        np.testing.assert_array_equal(factor, wanted)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("transposed", [False, True])
def test_gradients_through_tridiagonal_factors_are_those_of_the_whole_system(dtype: str, transposed: bool) -> None:
    a, b = tt.tensor("a", dtype=dtype, shape=(5, 5)), tt.tensor("b", dtype=dtype, shape=(5, 2))
    whole = tt.triu(tt.tril(a, 1), -1)
    ways = [
        linalg.tridiagonal_lu_solve(linalg.tridiagonal_lu_factor(a), b, b_ndim=2, transposed=transposed),
        linalg.solve(whole.T if transposed else whole, b),
    ]
    slopes = [slope for x in ways for slope in tt.grad(tt.sum(tt.abs(x) ** 2), [a, b])]
    # Rows are exchanged.
    values = rng.normal(size=(2, 5, 5)) + 2 * np.eye(5, k=-1)
    values = values[0] + (1j * values[1] if dtype == "complex128" else 0)
    by_a, by_b, expected_by_a, expected_by_b = function([a, b], slopes, mode="VM")(values, values[:, :2])
    np.testing.assert_allclose(by_a, expected_by_a, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(by_b, expected_by_b, rtol=1e-8, atol=1e-10)


def test_singular_tridiagonal_matrices_have_factors_but_no_solutions() -> None:
    factors = linalg.tridiagonal_lu_factor(np.zeros((3, 3)))
    assert np.isnan(linalg.tridiagonal_lu_solve(factors, np.ones(3)).eval()).all()
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        linalg.tridiagonal_lu_solve(factors, np.ones(3), on_error="raise").eval()


def test_wrong_arguments_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"l\+u\+1 \(3\) does not equal ab.shape\[-2\] \(4\)"):
        linalg.solve_banded((1, 1), np.ones((4, 3)), np.ones(3))
    with pytest.raises(ValueError, match="two numbers of diagonals"):
        linalg.solve_banded((1, 1, 1), np.ones((3, 3)), np.ones(3))  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ValueError, match="lengths m"):
        linalg.solve_banded((1, 1), np.ones((3, 3)), np.ones(4))
    with pytest.raises(ValueError, match="got 2 parts"):
        linalg.tridiagonal_lu_solve([np.ones(2), np.ones(3)], np.ones(3))
    ab = tt.dmatrix("ab")
    with pytest.raises(ValueError, match="3"):
        function([ab], linalg.solve_banded((1, 1), ab, np.ones(3)), mode="VM")(np.ones((4, 3)))
