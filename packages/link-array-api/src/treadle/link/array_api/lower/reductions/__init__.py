"""Rules for ops of `treadle.tensor.reductions`, a module for each family."""
