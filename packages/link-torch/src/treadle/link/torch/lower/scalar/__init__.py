"""Functions for scalar ops, by the families of `treadle.tensor.scalar`."""

from treadle.link.torch.lower.scalar import (
    arithmetic,
    cast,
    comparison,
    complex_numbers,
    exponential,
    gamma_functions,
    logic,
    rounding,
    trigonometric,
)

__all__ = [
    "arithmetic",
    "cast",
    "comparison",
    "complex_numbers",
    "exponential",
    "gamma_functions",
    "logic",
    "rounding",
    "trigonometric",
]
