"""Rules of the PyTorch backend for ops of `treadle.tensor.signal`, a module for each family."""
