"""Rules of the C backend for ops of `treadle.tensor.random`, a module for each family."""
