"""Matrices with a structure: blocks on the diagonal, matrices that vectors give, and those known by a name.

The room may import `matrix_op` beside it. Only the rules, lowerings and records may import it.
"""
