"""Rules of the C backend for ops of `treadle.tensor.shapes`, a module for each family."""
