"""Rules of the C backend for ops of `treadle.tensor.products`, a module for each family."""
