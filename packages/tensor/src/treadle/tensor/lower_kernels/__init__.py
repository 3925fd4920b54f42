"""Kernels of the ops of tensor, and rules for all compiling backends: importing the modules registers them."""

from treadle.tensor.lower_kernels.arrangement import diagonals, repetition
from treadle.tensor.lower_kernels.control import assertion, copying
from treadle.tensor.lower_kernels.elementwise import arithmetic, complex_numbers, operators
from treadle.tensor.lower_kernels.indexing import indexing, ranges, searching
from treadle.tensor.lower_kernels.reductions import accumulation, reduction
from treadle.tensor.lower_kernels.shapes import broadcasting, dimshuffle, shape, shape_specification
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
    "accumulation", "arithmetic", "assertion", "broadcasting", "compiled", "complex_numbers", "copying", "diagonals",
    "dimshuffle", "gamma_blocks", "hypergeometric", "indexing", "inverse_error_blocks", "operators", "polygamma",
    "ranges", "reduction", "repetition", "searching", "shape", "shape_specification", "sorting", "tail_moments",
]  # fmt: skip
