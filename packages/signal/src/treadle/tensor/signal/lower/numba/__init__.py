"""Rules of the Numba backend: importing the modules registers them."""

from treadle.tensor.signal.lower.numba import fourier

__all__ = ["fourier"]
