"""Rules of the C backend, and the C functions that they call: importing the modules registers them."""

from treadle.tensor.signal.lower.c import fourier

__all__ = ["fourier"]
