"""Linear algebra and convolutions along named dimensions, against NumPy and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import treadle.named as nm
from treadle.compile import function
from treadle.named import linalg

RNG = np.random.default_rng(11)
# Matrices of (row, column), three of them, not symmetric; positive definite ones; vectors, and matrices of rows.
GENERAL = RNG.normal(size=(3, 4, 4)) + 4 * np.eye(4)
POSITIVE = GENERAL @ GENERAL.transpose(0, 2, 1)
VECTORS = RNG.normal(size=(4, 3))
RIGHT = RNG.normal(size=(4, 3, 2))

general = nm.as_xtensor(GENERAL, dims=("batch", "row", "column"))
positive = nm.as_xtensor(POSITIVE, dims=("batch", "row", "column"))
vectors = nm.as_xtensor(VECTORS, dims=("row", "batch"))
right = nm.as_xtensor(RIGHT, dims=("row", "batch", "k"))
BOTH = ("row", "column")


def test_functions_of_matrices_are_those_of_each_matrix() -> None:
    sign, size = linalg.slogdet(general, dims=BOTH)
    values, vectors_of = linalg.eigh(positive, dims=BOTH)
    rebuilt = nm.dot(vectors_of * values, vectors_of.rename(row="column"), dim="eigenvalue")
    results: list[Any] = [
        linalg.cholesky(positive, dims=BOTH), linalg.inv(general, dims=BOTH), linalg.det(general, dims=BOTH), sign,
        size, linalg.expm(general * 0.1, dims=BOTH), values, rebuilt,
        linalg.cholesky(positive, lower=False, dims=BOTH),
    ]  # fmt: skip
    assert [r.dims for r in results[:4]] == [("batch", *BOTH), ("batch", "column", "row"), ("batch",), ("batch",)]
    signs, sizes = np.linalg.slogdet(GENERAL)
    expected = [
        np.linalg.cholesky(POSITIVE), np.linalg.inv(GENERAL), np.linalg.det(GENERAL), signs, sizes,
        scipy.linalg.expm(GENERAL * 0.1), np.linalg.eigvalsh(POSITIVE), POSITIVE,
        np.linalg.cholesky(POSITIVE).transpose(0, 2, 1),
    ]  # fmt: skip
    for value, array in zip(function([], results, mode="VM")(), expected, strict=True):
        np.testing.assert_allclose(value, array, rtol=1e-9, atol=1e-9)


def test_solutions_are_those_of_matrices_whose_columns_are_the_shared_dimension() -> None:
    # What PyTensor's solve computes, whatever the order of the dimensions.
    turned = ("column", "row")
    factor = linalg.cholesky(positive, dims=turned)
    lower = nm.as_xtensor(np.tril(GENERAL), dims=("batch", *turned))
    by_row = GENERAL.transpose(0, 2, 1)
    columns, matrices = VECTORS.T[..., None], RIGHT.transpose(1, 0, 2)
    cases: list[tuple[Any, Any, Any]] = [
        (by_row, columns, linalg.solve(general, vectors, dims=BOTH)),
        (by_row, columns, linalg.solve(general.transpose("column", ...), vectors, dims=turned)),
        (POSITIVE, columns, linalg.solve(positive, vectors, dims=BOTH, assume_a="pos")),
        (np.tril(GENERAL), columns, linalg.solve_triangular(lower, vectors, dims=BOTH, lower=True)),
        (POSITIVE, columns, linalg.cho_solve(factor, vectors, dims=BOTH)),
        (by_row, matrices, linalg.solve(general, right, dims=(*BOTH, "k"))),
        (POSITIVE, matrices, linalg.cho_solve(factor, right, dims=("k", *turned))),
    ]
    assert [x.dims for *_, x in cases[4:6]] == [("batch", "column"), ("batch", "column", "k")]
    values = function([], [x for *_, x in cases], mode="VM")()
    for value, (matrix, rhs, _) in zip(values, cases, strict=True):
        np.testing.assert_allclose(value.reshape(rhs.shape), np.linalg.solve(matrix, rhs), rtol=1e-9, atol=1e-9)


def test_signals_are_convolved_along_a_dimension_of_each() -> None:
    signals, kernels = RNG.normal(size=(2, 7)), RNG.normal(size=(4, 3))
    x, y = nm.as_xtensor(signals, dims=("b", "time")), nm.as_xtensor(kernels, dims=("lag", "c"))
    for mode in ("full", "valid", "same"):
        result = nm.signal.convolve1d(x, y, mode, dims=("time", "lag"))
        assert result.dims == ("b", "c", "time")
        expected = [[np.convolve(s, k, mode) for k in kernels.T] for s in signals]
        np.testing.assert_allclose(result.eval(), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: linalg.cholesky(general, dims=("row",)), "two dimensions"),
        (lambda: linalg.det(general, dims=("row", "q")), "lacks"),
        (lambda: linalg.solve(general, vectors, dims=("row",)), "two dimensions"),
        (lambda: linalg.solve(general, vectors, dims=("row", "batch")), "must have two"),
        (lambda: linalg.solve(general, right, dims=("row", "column", "q")), "must have two"),
        (lambda: nm.signal.convolve1d(vectors, vectors, dims=("row", "row")), "must differ"),
        (lambda: nm.signal.convolve1d(vectors, vectors, dims=("row", "batch")), "core dimensions of other inputs"),
        (lambda: nm.signal.convolve1d(vectors, right, "all", dims=("row", "k")), "full, valid or same"),  # type: ignore[arg-type]
    ],
)
def test_dimensions_that_do_not_fit_are_refused(call: Any, text: str) -> None:
    with pytest.raises(nm.DimsError, match=text):
        call()
