"""Functions for scalar ops, by the families of `treadle.tensor`."""

from treadle.link.torch.lower.elementwise.scalar import (
    arithmetic,
    bessel_functions,
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
    "bessel_functions",
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
