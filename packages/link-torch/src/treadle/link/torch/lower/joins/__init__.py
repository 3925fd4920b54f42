"""Rules of the PyTorch backend for ops of `treadle.tensor.joins`, a module for each family."""
