"""Rules of the C backend for ops of `treadle.tensor.control`, a module for each family."""
