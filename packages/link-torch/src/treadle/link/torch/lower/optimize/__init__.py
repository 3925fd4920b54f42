"""Rules of the PyTorch backend for ops of `treadle.tensor.optimize`, a module for each family."""
