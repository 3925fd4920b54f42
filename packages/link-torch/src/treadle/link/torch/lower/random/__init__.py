"""Rules of the PyTorch backend for ops of `treadle.tensor.random`, a module for each family."""
