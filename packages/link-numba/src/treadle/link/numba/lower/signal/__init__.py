"""Rules of the Numba backend for ops of `treadle.tensor.signal`, a module for each family."""
