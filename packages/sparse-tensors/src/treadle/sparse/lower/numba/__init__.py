"""Rules of the Numba backend: importing the modules registers them."""

from treadle.sparse.lower.numba import kernels

__all__ = ["kernels"]
