"""Rules of the Numba backend: importing the modules registers them."""

from treadle.tensor.signal.lower.numba import convolution, fourier

__all__ = ["convolution", "fourier"]
