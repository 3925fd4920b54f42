"""Rules of the JAX backend: importing the modules registers them."""

from treadle.tensor.linalg.lower.jax import (
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
    "cholesky", "determinants", "eigenvalues", "inverse", "linear_systems", "lu", "matrix_equations",
    "matrix_functions", "qr", "schur", "svd", "triangular",
]  # fmt: skip
