"""Rules of the JAX backend: importing the modules registers them."""

from treadle.tensor.linalg.lower.jax import (
    cholesky,
    determinants,
    eigenvalues,
    linear_systems,
    lu,
    matrix_equations,
    qr,
    schur,
    svd,
    triangular,
)

__all__ = [
    "cholesky", "determinants", "eigenvalues", "linear_systems", "lu",
    "matrix_equations", "qr", "schur", "svd", "triangular",
]  # fmt: skip
