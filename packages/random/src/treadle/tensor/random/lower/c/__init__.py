"""Rules and texts of the C backend for draws: importing the modules registers them."""

from treadle.tensor.random.lower.c import philox_texts

__all__ = ["philox_texts"]
