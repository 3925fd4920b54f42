"""Rules of the C backend, and what they write C with: importing the modules registers them."""

from treadle.tensor.linalg.lower.c import cholesky, determinants, eigenvalues, inverse, linear_systems, triangular
from treadle.tensor.linalg.lower.c.writing import runtime_texts

__all__ = ["cholesky", "determinants", "eigenvalues", "inverse", "linear_systems", "runtime_texts", "triangular"]
