"""NumPy's functions called with tensors."""
