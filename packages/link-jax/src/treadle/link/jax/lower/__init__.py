"""Lowerings of treadle's own ops to JAX, by families, and those that other libraries share; they import JAX."""

from treadle.link.jax.lower import shared

__all__ = ["shared"]
