"""Rules and texts of the C backend for draws: importing the modules registers them."""

from treadle.tensor.random.lower.c import generator_draws, philox_texts

__all__ = ["generator_draws", "philox_texts"]
