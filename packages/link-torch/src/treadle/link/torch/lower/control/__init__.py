"""Rules of the PyTorch backend for ops of `treadle.tensor.control`, a module for each family."""
