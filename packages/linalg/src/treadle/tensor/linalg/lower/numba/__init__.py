"""Rules of the Numba backend for ops of `treadle.tensor.linalg`, a module for each family."""
