"""The type of named tensors, their labels, and casts to plain tensors and back. It imports no other module of ops."""
