"""Rules of the JAX backend for ops of `treadle.tensor.signal`, a module for each family."""
