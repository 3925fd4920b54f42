"""Decompositions of matrices into factors, a module for each kind: its ops, and their functions.

The room may import `matrix_op`, `triangular_systems` and `linear_systems` beside it. All other modules of `linalg` may
import it.
"""
