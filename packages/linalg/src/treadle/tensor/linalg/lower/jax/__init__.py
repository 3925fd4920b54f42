"""Rules of the JAX backend for ops of `treadle.tensor.linalg`, a module for each family."""
