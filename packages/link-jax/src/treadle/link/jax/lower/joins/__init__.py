"""Rules of the JAX backend for ops of `treadle.tensor.joins`, a module for each family."""
