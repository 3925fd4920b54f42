"""Rules of the JAX backend for ops of `treadle.tensor.products`, a module for each family."""
