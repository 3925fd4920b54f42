"""Rules of the C backend for ops of `treadle.tensor.arrangement`, a module for each family."""
