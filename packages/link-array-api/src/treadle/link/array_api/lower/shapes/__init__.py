"""Rules for ops of `treadle.tensor.shapes`, a module for each family."""
