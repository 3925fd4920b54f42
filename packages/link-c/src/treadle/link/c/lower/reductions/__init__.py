"""Rules of the C backend for ops of `treadle.tensor.reductions`, a module for each family."""
