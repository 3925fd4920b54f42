"""Kernels of rearranged tensors."""
