"""Rules of the Numba backend for ops of `treadle.tensor.reductions`, a module for each family."""
