"""Rules of the JAX backend for ops of `treadle.tensor.reductions`, a module for each family."""
