"""Rules of the JAX backend for ops of `treadle.tensor.loops`, a module for each family."""
