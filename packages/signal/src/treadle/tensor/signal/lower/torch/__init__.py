"""Rules of the PyTorch backend: importing the modules registers them."""

from treadle.tensor.signal.lower.torch import convolution, fourier

__all__ = ["convolution", "fourier"]
