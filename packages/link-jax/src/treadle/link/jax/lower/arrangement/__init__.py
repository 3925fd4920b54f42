"""Rules of the JAX backend for ops of `treadle.tensor.arrangement`, a module for each family."""
