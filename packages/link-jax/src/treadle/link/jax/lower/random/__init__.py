"""Rules of the JAX backend for ops of `treadle.tensor.random`, a module for each family."""
