"""Rules of the C backend for ops of `treadle.tensor.loops`, a module for each family."""
