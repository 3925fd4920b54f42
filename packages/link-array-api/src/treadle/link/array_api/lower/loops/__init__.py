"""Rules for ops of `treadle.tensor.loops`, a module for each family."""
