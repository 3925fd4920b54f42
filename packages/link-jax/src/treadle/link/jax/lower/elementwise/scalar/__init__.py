"""Functions for scalar ops: those of NumPy together, special functions by the families of `treadle.tensor`."""

from treadle.link.jax.lower.elementwise.scalar import (
    bessel_functions,
    complex_numbers,
    elementary,
    error_functions,
    gamma_functions,
    hypergeometric,
    incomplete_beta,
    incomplete_gamma,
)

__all__ = [
    "bessel_functions",
    "complex_numbers",
    "elementary",
    "error_functions",
    "gamma_functions",
    "hypergeometric",
    "incomplete_beta",
    "incomplete_gamma",
]
