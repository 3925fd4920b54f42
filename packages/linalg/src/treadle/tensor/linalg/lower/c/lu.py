"""LU factors, solving with them, and permutations from pivots."""

from __future__ import annotations

from treadle.link.c import TABLE, Unit
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.lu import LUFactor, LUSolve, PivotToPermutations
from treadle.tensor.linalg.lower.c.writing.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices
from treadle.tensor.linalg.lower.c.writing.substitution import EXCHANGE, ROUTINES, substituted

# The rules take complex numbers too.
TAKES_COMPLEX = True

# The matrix is passed by columns, since its transpose has other factors. A pivot of 0 is not a failure.
_FACTOR = MatrixBody(
    operands=[MatrixOperand("a", "columns", into=0)],
    results=[MatrixResult("factor", "columns"), MatrixResult("pivots")],
    routines={"getrf": "iixiii"},
    text="""\
$getrf(&m, &n, factor, &ld_factor, pivots, &info);
  for (int i = 0; i < m && i < n; i++) pivots[i]--;
  info = 0;""",
)
# Rows are exchanged by the pivots that a user passes, so pivots out of range are refused.
_OF_ROWS = "for (int i = 0; i < m; i++) if (pivots[i] < 0 || pivots[i] >= m) return 1;"


@TABLE.register(LUFactor)
def lu_factor(op: LUFactor, node: TensorNode, unit: Unit) -> None:
    """Write the call of getrf; pivots are counted from 0."""
    write_matrices(op, node, unit, _FACTOR)


@TABLE.register(LUSolve)
def lu_solve(op: LUSolve, node: TensorNode, unit: Unit) -> None:
    """Write the two substitutions, and the exchange of rows: before them, or after them for the adjoint."""
    low = substituted("a", "x", lower=True, unit=True, adjoint=op.adjoint)
    up = substituted("a", "x", lower=False, adjoint=op.adjoint)
    exchange = f"@_exchange(x, ld_x, n, pivots, 0, m, {int(op.adjoint)});"
    steps = [up, low, exchange] if op.adjoint else [exchange, low, up]
    body = MatrixBody(
        operands=[MatrixOperand("a"), MatrixOperand("pivots"), MatrixOperand("b", into=0)],
        results=[MatrixResult("x")],
        routines=ROUTINES,
        before=EXCHANGE,
        text="\n  ".join([
            _OF_ROWS,
            "for (int i = 0; i < m; i++) if (a[i * (int64_t)(ld_a + 1)] == 0) return 1;",
            "if (!m) return 0;",
            *steps,
        ]),
    )  # fmt: skip
    write_matrices(op, node, unit, body)


@TABLE.register(PivotToPermutations)
def pivot_to_permutations(op: PivotToPermutations, node: TensorNode, unit: Unit) -> None:
    """Write the exchanges of the numbers 0, 1, 2 ..., and the inverse of that permutation."""
    order = "permutation" if op.inverse else "order"
    text = f"""\
{_OF_ROWS}
  for (int i = 0; i < m; i++) {order}[i] = i;
  for (int i = 0; i < m; i++) {{
    const int64_t moved = {order}[i];
    {order}[i] = {order}[pivots[i]];
    {order}[pivots[i]] = moved;
  }}
"""
    if not op.inverse:
        text += "  for (int i = 0; i < m; i++) permutation[order[i]] = i;"
    body = MatrixBody(
        operands=[MatrixOperand("pivots")],
        results=[MatrixResult("permutation")],
        scratch={} if op.inverse else {"order": "int64_t m"},
        text=text,
    )
    write_matrices(op, node, unit, body)
