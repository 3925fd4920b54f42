"""Kernels of sparse matrices, and rules for all compiling backends: importing the modules registers them."""

from treadle.sparse.lower.kernels import patterns, products

__all__ = ["patterns", "products"]
