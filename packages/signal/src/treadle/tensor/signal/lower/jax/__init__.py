"""Rules of the JAX backend: importing the modules registers them."""

from treadle.tensor.signal.lower.jax import convolution, fourier

__all__ = ["convolution", "fourier"]
