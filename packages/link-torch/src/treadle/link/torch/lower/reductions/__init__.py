"""Rules of the PyTorch backend for ops of `treadle.tensor.reductions`, a module for each family."""
