"""Functions of PyTorch's own that stand for several elementwise functions."""
