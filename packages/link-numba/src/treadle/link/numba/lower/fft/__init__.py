"""Rules of the Numba backend for ops of `treadle.tensor.fft`, a module for each family."""
