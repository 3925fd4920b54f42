"""Rules of the PyTorch backend for ops of `treadle.tensor.products`, a module for each family."""
