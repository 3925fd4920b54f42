"""Domains of matrices for records of linear algebra: far from singular, so that results are accurate."""

from __future__ import annotations

import numpy as np

from treadle.config import dataclass
from treadle.testing.domain import UNIT, Array, Domain

COMPLEX = ("complex64", "complex128")
INEXACT = ("float32", "float64", *COMPLEX)
# Variants of matrices, which have no special values.
OF_MATRICES = ("plain", "broadcast", "empty", "long", "fortran", "strided", "reversed", "readonly")
FEW_OF_MATRICES = ("plain", "fortran", "reversed")
LOSSY = {
    "float32": (2e-4, 2e-5), "complex64": (2e-4, 2e-5), "float64": (1e-10, 1e-11), "complex128": (1e-10, 1e-11),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dominant(Domain):
    """Square matrices in which the diagonal with number `offset` is large."""

    special: bool = False
    offset: int = 0

    def draw(self, rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> Array:
        """Return random matrices plus a multiple of the identity."""
        n = shape[-1]
        return np.asarray(UNIT.draw(rng, dtype, shape) + np.asarray((1 + n / 2) * np.eye(n, k=self.offset), dtype))


@dataclass(frozen=True, slots=True)
class PositiveDefinite(Domain):
    """Hermitian positive definite matrices."""

    special: bool = False

    def draw(self, rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> Array:
        """Return products of random matrices with their conjugate transposes, plus the identity."""
        x = UNIT.draw(rng, np.result_type(dtype, "float64"), shape)
        return np.asarray(x @ x.conj().swapaxes(-1, -2) + np.eye(shape[-1])).astype(dtype)


@dataclass(frozen=True, slots=True)
class Diagonals(Domain):
    """The diagonals of banded matrices as rows; row `main` is the largest one."""

    special: bool = False
    main: int = 0

    def draw(self, rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> Array:
        """Return small random numbers, with more than 1 in one row."""
        x = 0.2 * UNIT.draw(rng, np.result_type(dtype, "float64"), shape)
        x[..., self.main, :] += 1.5
        return np.asarray(x).astype(dtype)


DOMINANT = Dominant()
DOMINANT_BELOW = Dominant(offset=-1)
POSITIVE_DEFINITE = PositiveDefinite()
