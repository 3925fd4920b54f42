"""Kernels of the ops of tensor, and rules for all compiling backends: importing the modules registers them."""

from treadle.tensor.lower_kernels.arrangement import repetition
from treadle.tensor.lower_kernels.elementwise import arithmetic, complex_numbers
from treadle.tensor.lower_kernels.indexing import ranges, searching
from treadle.tensor.lower_kernels.reductions import accumulation
from treadle.tensor.lower_kernels.sorting import sorting
from treadle.tensor.lower_kernels.special_functions import (
    compiled,
    gamma_blocks,
    hypergeometric,
    inverse_error_blocks,
    polygamma,
    tail_moments,
)

__all__ = [
    "accumulation", "arithmetic", "compiled", "complex_numbers", "gamma_blocks", "hypergeometric",
    "inverse_error_blocks", "polygamma", "ranges", "repetition", "searching", "sorting", "tail_moments",
]  # fmt: skip
