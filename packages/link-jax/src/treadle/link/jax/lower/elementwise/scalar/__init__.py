"""Functions for scalar ops, by subject."""

from treadle.link.jax.lower.elementwise.scalar import complex_numbers, elementary, hypergeometric, special_functions

__all__ = ["complex_numbers", "elementary", "hypergeometric", "special_functions"]
