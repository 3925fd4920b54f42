"""Rules of the Numba backend for ops of `treadle.tensor.random`, a module for each family."""
