"""Kernels of convolutions and Fourier transforms, and their rules: importing the modules registers them."""

from treadle.tensor.signal.lower.kernels import convolution, fourier

__all__ = ["convolution", "fourier"]
