"""Rules of the JAX backend: importing the modules registers them."""

from treadle.tensor.random.lower.jax import portable_draws

__all__ = ["portable_draws"]
