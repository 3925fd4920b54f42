"""Rules of the Numba backend for draws: importing the modules registers them."""

from treadle.tensor.random.lower.numba import generator_draws

__all__ = ["generator_draws"]
