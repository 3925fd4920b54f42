"""Rules of the PyTorch backend: importing the modules registers them."""

from treadle.tensor.random.lower.torch import portable_draws

__all__ = ["portable_draws"]
