"""Elementwise functions, by the families of `treadle.tensor.scalar`."""

from treadle.link.torch.lower.scalar import (
    arithmetic,
    cast,
    comparison,
    complex_numbers,
    exponential,
    logic,
    rounding,
    trigonometric,
)
from treadle.link.torch.lower.scalar.kernels import KERNELS

__all__ = [
    "KERNELS",
    "arithmetic",
    "cast",
    "comparison",
    "complex_numbers",
    "exponential",
    "logic",
    "rounding",
    "trigonometric",
]
