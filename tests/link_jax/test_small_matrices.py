"""Matrices on JAX: those of up to three rows, whose factors are written out, and Cholesky factors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function

ROWS = (1, 2, 3, 4)


def _stack(n: int, dtype: str) -> np.ndarray:
    """Return random matrices, among them singular ones and those that need rows exchanged."""
    rng = np.random.default_rng(n)
    a = rng.normal(size=(12, n, n))
    if dtype.startswith("complex"):
        a = a + 1j * rng.normal(size=a.shape)
    a[0], a[1, 0], a[2, :, -1] = 0, 0, 0
    a[3] = np.eye(n)[::-1]
    return a.astype(dtype)


def _agree(inputs: list[Any], outputs: list[Any], values: list[np.ndarray], tolerance: float) -> Any:
    f = function(inputs, outputs, mode="JAX")
    for ours, theirs in zip(f(*values), function(inputs, outputs, mode="VM")(*values), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    return f


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("n", ROWS)
def test_determinants_and_solutions_are_those_of_lapack(n: int, dtype: str) -> None:
    a, b = tt.tensor("a", dtype=dtype, shape=(None,) * 3), tt.tensor("b", dtype=dtype, shape=(None,) * 3)
    right = np.random.default_rng(0).normal(size=(12, n, 2)).astype(dtype)
    outputs = [tt.linalg.det(a), *tt.linalg.slogdet(a), tt.linalg.solve(a, b), tt.linalg.inv(a)]
    f = _agree([a, b], outputs, [_stack(n, dtype), right], 1e-3 if dtype == "float32" else 1e-9)
    assert ("triangular_solve" in str(f.vm.jaxpr(_stack(n, dtype), right))) == (n > 3)


def test_a_matrix_with_nan_has_neither_determinant_nor_solution() -> None:
    a, value = tt.dtensor3("a"), np.stack([np.eye(3), np.eye(3)])
    value[0, 2, 1] = np.nan
    _agree([a], [tt.linalg.det(a), tt.linalg.slogdet(a)[1], tt.linalg.inv(a)], [value], 1e-12)


@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("n", ROWS)
def test_factors_and_their_pivots_are_those_of_lapack(n: int, trans: int) -> None:
    a, b = (
        tt.tensor("a", dtype="complex128", shape=(None, n, n)),
        tt.tensor("b", dtype="complex128", shape=(None, n, 2)),
    )
    factor, pivots = tt.linalg.lu_factor(a)
    right = np.random.default_rng(0).normal(size=(12, n, 2)) + 0j
    outputs = [factor, pivots, tt.linalg.lu_solve((factor, pivots), b, trans=trans)]
    _agree([a, b], outputs, [_stack(n, "complex128"), right], 1e-9)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (0, 2, 1)])
def test_a_determinant_overflows_only_where_it_must(order: tuple[int, ...]) -> None:
    sizes = np.array([1e200, 1e180, 1e-250])[list(order)]
    a = tt.dmatrix("a")
    value = function([a], tt.linalg.det(a), mode="JAX")(np.diag(sizes))
    np.testing.assert_allclose(value, 1e130, rtol=1e-12)


def test_cancellation_leaves_as_many_digits_as_elimination_does() -> None:
    x = np.ones((3, 3)) + 1e-8 * np.random.default_rng(0).normal(size=(3, 3))
    a = tt.dmatrix("a")
    np.testing.assert_allclose(function([a], tt.linalg.det(a), mode="JAX")(x), np.linalg.det(x), rtol=1e-6)


def test_infinite_entries_of_a_matrix_leave_no_cholesky_factor() -> None:
    a, b = tt.dtensor3("a"), tt.dtensor3("b")
    values = np.stack([np.eye(4) * 2] * 5)
    values[0, 2, 2], values[1, 2, 1], values[2, 1, 0], values[3, 0, 2] = np.inf, np.inf, np.nan, np.inf
    outputs = [tt.linalg.cholesky(a), tt.linalg.cho_solve((tt.linalg.cholesky(a), True), b)]
    _agree([a, b], outputs, [values, np.ones((5, 4, 1))], 1e-12)
