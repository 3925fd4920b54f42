"""Kernels of reductions and of what goes along an axis, a module for each family."""
