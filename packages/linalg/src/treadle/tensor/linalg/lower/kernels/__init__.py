"""Kernels of linear algebra, and rules for all compiling backends: importing the modules registers them."""

from treadle.tensor.linalg.lower.kernels import (
    banded,
    block_diagonal,
    cholesky,
    determinants,
    eigenvalues,
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

__all__ = [
    "banded",
    "block_diagonal",
    "cholesky",
    "determinants",
    "eigenvalues",
    "least_squares",
    "linear_systems",
    "lu",
    "matrix_equations",
    "matrix_functions",
    "qr",
    "schur",
    "svd",
    "triangular",
]
