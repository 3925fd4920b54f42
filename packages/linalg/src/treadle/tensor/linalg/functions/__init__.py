"""Functions of matrices, and equations whose unknown is a matrix.

The room may import all of `linalg` but `structured`, the rules, the lowerings and the records. Only these may
import it.
"""
