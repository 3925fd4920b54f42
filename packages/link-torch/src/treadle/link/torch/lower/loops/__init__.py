"""Rules of the PyTorch backend for ops of `treadle.tensor.loops`, a module for each family."""
