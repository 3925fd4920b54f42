"""Rules for ops of `treadle.tensor.sorting`, a module for each family."""
