"""Kernels of elementwise functions, each of which computes one number."""
