"""Rules of the C backend: importing the modules registers them."""

from treadle.tensor.random.lower.c import generator_draws, portable_draws

__all__ = ["generator_draws", "portable_draws"]
