"""Functions of matrices, and equations whose unknown is a matrix.

The room may import all of `linalg` but `structured`, the rules, and what backends and checks have of it. Only these may
import it.
"""
