"""Rules of the JAX backend for ops of `treadle.tensor.control`, a module for each family."""
