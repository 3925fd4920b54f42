"""Kernels of the ops of tensor, and rules for all compiling backends: importing the modules registers them."""

from treadle.tensor.lower_kernels.indexing import searching
from treadle.tensor.lower_kernels.sorting import sorting

__all__ = ["searching", "sorting"]
