"""Kernels of indexing."""
