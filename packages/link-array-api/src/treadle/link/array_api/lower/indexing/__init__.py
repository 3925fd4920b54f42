"""Rules for ops of `treadle.tensor.indexing`, a module for each family."""
