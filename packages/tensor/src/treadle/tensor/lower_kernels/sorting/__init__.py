"""Kernels of sorting."""
