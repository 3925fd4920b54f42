"""Rules for ops of `treadle.tensor.products`, a module for each family."""
