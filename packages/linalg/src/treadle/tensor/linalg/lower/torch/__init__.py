"""Rules of the PyTorch backend for ops of `treadle.tensor.linalg`, a module for each family."""
