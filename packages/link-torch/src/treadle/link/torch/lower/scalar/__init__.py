"""Functions for scalar ops, by the families of `treadle.tensor.scalar`."""

from treadle.link.torch.lower.scalar import (
    arithmetic,
    cast,
    comparison,
    complex_numbers,
    error_functions,
    exponential,
    floating,
    gamma_functions,
    incomplete_beta,
    incomplete_gamma,
    integers,
    logic,
    rounding,
    trigonometric,
)

__all__ = [
    "arithmetic",
    "cast",
    "comparison",
    "complex_numbers",
    "error_functions",
    "exponential",
    "floating",
    "gamma_functions",
    "incomplete_beta",
    "incomplete_gamma",
    "integers",
    "logic",
    "rounding",
    "trigonometric",
]
