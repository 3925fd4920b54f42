"""Kernels of convolutions, and rules for all compiling backends: importing the modules registers them."""

from treadle.tensor.signal.lower.kernels import convolution

__all__ = ["convolution"]
