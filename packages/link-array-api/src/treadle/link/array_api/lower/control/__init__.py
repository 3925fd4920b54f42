"""Rules for ops of `treadle.tensor.control`, a module for each family."""
