"""Rules of the array API backend, by the standard's extension fft: importing the modules registers them."""

from treadle.tensor.signal.lower.array_api import fourier

__all__ = ["fourier"]
