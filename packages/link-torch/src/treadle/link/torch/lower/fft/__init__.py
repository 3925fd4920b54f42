"""Rules of the PyTorch backend for ops of `treadle.tensor.fft`, a module for each family."""
