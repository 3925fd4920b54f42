"""Triangular systems."""

from __future__ import annotations

from treadle.link.c import TABLE, Unit
from treadle.tensor import TensorNode
from treadle.tensor.linalg.lower.c.writing import small_matrices
from treadle.tensor.linalg.lower.c.writing.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices
from treadle.tensor.linalg.lower.c.writing.substitution import ROUTINES, substituted
from treadle.tensor.linalg.triangular_systems import SolveTriangular

# The rules take complex numbers too.
TAKES_COMPLEX = True


@TABLE.register(SolveTriangular)
def solve_triangular(op: SolveTriangular, node: TensorNode, unit: Unit) -> None:
    """Write the calls of trsv or trsm, and the check that the diagonal has no 0."""
    zero = "" if op.unit_diagonal else "for (int i = 0; i < m; i++) if (a[i * (int64_t)(ld_a + 1)] == 0) info = i + 1;"
    body = MatrixBody(
        operands=[
            MatrixOperand("a", "either", half="lower" if op.lower else "upper", strict=op.unit_diagonal),
            MatrixOperand("b", into=0),
        ],
        results=[MatrixResult("x")],
        routines=ROUTINES,
        text=f"{zero}\n  if (!info && m) {substituted('a', 'x', lower=op.lower, unit=op.unit_diagonal, either=True)}",
        small=small_matrices.substituted("a", "x", lower=op.lower, unit=op.unit_diagonal, checked=True),
        alone="n == 1 ? m <= 24 : m <= 4",
        most=16,
    )
    write_matrices(op, node, unit, body)
