"""Rules of the array API backend: importing the modules registers them."""

from treadle.tensor.random.lower.array_api import portable_draws

__all__ = ["portable_draws"]
