"""Rules of the PyTorch backend for ops of `treadle.tensor.arrangement`, a module for each family."""
