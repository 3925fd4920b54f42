"""Rules for ops of `treadle.tensor.elementwise`, a module for each family."""
