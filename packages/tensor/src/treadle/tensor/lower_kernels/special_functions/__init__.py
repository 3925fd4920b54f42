"""Kernels of special functions, each of which computes one number."""
