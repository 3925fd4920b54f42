"""Rules of the C backend, and the C functions that they call: importing the modules registers them."""

from treadle.sparse.lower.c import kernels

__all__ = ["kernels"]
