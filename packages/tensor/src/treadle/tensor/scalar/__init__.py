"""The table of elementwise functions, one module for each family."""

from treadle.tensor.scalar.row import ROWS, ScalarOp

__all__ = ["ROWS", "ScalarOp"]
