"""Rules of the Numba backend for ops of `treadle.tensor.control`, a module for each family."""
