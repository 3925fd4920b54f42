"""Kernels as text: C, and the source that Numba compiles."""
