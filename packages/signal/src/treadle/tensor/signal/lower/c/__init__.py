"""Rules of the C backend, and the C functions that they call: importing the modules registers them."""

from treadle.tensor.signal.lower.c import convolution, fourier

__all__ = ["convolution", "fourier"]
