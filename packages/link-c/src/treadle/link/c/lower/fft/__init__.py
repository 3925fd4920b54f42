"""Rules of the C backend for ops of `treadle.tensor.fft`, a module for each family."""
