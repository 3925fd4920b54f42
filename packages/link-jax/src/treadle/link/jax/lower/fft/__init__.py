"""Rules of the JAX backend for ops of `treadle.tensor.fft`, a module for each family."""
