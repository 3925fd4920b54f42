"""Rules of the C backend for ops of `treadle.tensor.linalg`, a module for each family."""
