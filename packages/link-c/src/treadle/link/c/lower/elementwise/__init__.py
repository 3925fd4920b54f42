"""Rules of the C backend for ops of `treadle.tensor.elementwise`, a module for each family."""
