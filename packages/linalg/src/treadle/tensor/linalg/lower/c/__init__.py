"""Rules of the C backend, and what they write C with: importing the modules registers them."""

from treadle.tensor.linalg.lower.c import (
    banded,
    cholesky,
    determinants,
    eigenvalues,
    inverse,
    least_squares,
    linear_systems,
    lu,
    matrix_equations,
    matrix_functions,
    qr,
    schur,
    svd,
    triangular,
)
from treadle.tensor.linalg.lower.c.writing import runtime_texts

__all__ = [
    "banded", "cholesky", "determinants", "eigenvalues", "inverse", "least_squares", "linear_systems", "lu",
    "matrix_equations", "matrix_functions", "qr", "runtime_texts", "schur", "svd", "triangular",
]  # fmt: skip
