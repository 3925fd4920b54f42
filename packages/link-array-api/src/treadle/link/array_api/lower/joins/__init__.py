"""Rules for ops of `treadle.tensor.joins`, a module for each family."""
