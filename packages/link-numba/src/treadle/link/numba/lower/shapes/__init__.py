"""Rules of the Numba backend for ops of `treadle.tensor.shapes`, a module for each family."""
