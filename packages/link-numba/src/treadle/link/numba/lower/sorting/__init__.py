"""Rules of the Numba backend for ops of `treadle.tensor.sorting`, a module for each family."""
