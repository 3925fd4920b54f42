"""What functions of sparse matrices take and return, by a name."""

from __future__ import annotations

from typing import Any

# A sparse or dense matrix, vector or number, as a variable or a value. SciPy has no annotations, and what an op returns
# depends on its operands, so that type checkers take it for anything.
Operand = Any
