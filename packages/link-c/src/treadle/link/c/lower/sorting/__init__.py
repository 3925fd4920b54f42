"""Rules of the C backend for ops of `treadle.tensor.sorting`, a module for each family."""
