"""Matrices with a structure: blocks on the diagonal, matrices that vectors give, and those known by a name.

The room may import `matrix_op` beside it. Only rules, and what backends and checks have of it, may import it.
"""
