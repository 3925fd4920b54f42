"""Rules for ops of `treadle.tensor.arrangement`, a module for each family."""
