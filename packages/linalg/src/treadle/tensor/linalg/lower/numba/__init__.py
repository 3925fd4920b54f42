"""Rules of the Numba backend: importing the modules registers them."""

from treadle.tensor.linalg.lower.numba import (
    banded,
    block_diagonal,
    cholesky,
    determinants,
    eigenvalues,
    inverse,
    linear_systems,
    lu,
    matrix_equations,
    matrix_functions,
    qr,
    schur,
    svd,
    triangular,
)

__all__ = [
    "banded", "block_diagonal", "cholesky", "determinants", "eigenvalues", "inverse", "linear_systems", "lu",
    "matrix_equations", "matrix_functions", "qr", "schur", "svd", "triangular",
]  # fmt: skip
