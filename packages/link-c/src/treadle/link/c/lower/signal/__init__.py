"""Rules of the C backend for ops of `treadle.tensor.signal`, a module for each family."""
