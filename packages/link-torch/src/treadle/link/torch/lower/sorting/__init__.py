"""Rules of the PyTorch backend for ops of `treadle.tensor.sorting`, a module for each family."""
