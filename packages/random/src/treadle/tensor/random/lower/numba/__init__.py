"""Rules of the Numba backend: importing the modules registers them."""

from treadle.tensor.random.lower.numba import generator_draws, portable_draws

__all__ = ["generator_draws", "portable_draws"]
