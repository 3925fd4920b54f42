"""Rules of the C backend for ops of `treadle.tensor.indexing`, a module for each family."""
