"""Rules of the Numba backend for ops of `treadle.tensor.indexing`, a module for each family."""
