"""Rules of the JAX backend for ops of `treadle.tensor.optimize`, a module for each family."""
