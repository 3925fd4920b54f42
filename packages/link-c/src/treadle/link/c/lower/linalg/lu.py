"""LU factors, solutions by them, and permutations from pivots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.c.substitution import EXCHANGE, ROUTINES, substituted
from treadle.link.c.table import TABLE
from treadle.link.c.text.matrices import Made, MatrixBody, Taken, write_matrices
from treadle.tensor import LUFactor, LUSolve, PivotToPermutations

if TYPE_CHECKING:
    from treadle.link.c.text.unit import Unit
    from treadle.tensor import TensorNode

# Rows must be told from columns here: the factors of the transpose are others. A pivot of 0 is no failure.
_FACTOR = MatrixBody(
    takes=[Taken("a", "columns", into=0)],
    makes=[Made("factor", "columns"), Made("pivots")],
    routines={"getrf": "iixiii"},
    text="""\
$getrf(&m, &n, factor, &ld_factor, pivots, &info);
  for (int i = 0; i < m && i < n; i++) pivots[i]--;
  info = 0;""",
)
# What pivots are given may be wrong, and rows are exchanged by them.
_OF_ROWS = "for (int i = 0; i < m; i++) if (pivots[i] < 0 || pivots[i] >= m) return 1;"


@TABLE.register(LUFactor)
def lu_factor(op: LUFactor, node: TensorNode, unit: Unit) -> None:
    """Write the call of getrf; pivots count from 0."""
    write_matrices(op, node, unit, _FACTOR)


@TABLE.register(LUSolve)
def lu_solve(op: LUSolve, node: TensorNode, unit: Unit) -> None:
    """Write the two substitutions and the exchange of rows: before them, or after those of the adjoint."""
    low = substituted("a", "x", lower=True, unit=True, adjoint=op.adjoint)
    up = substituted("a", "x", lower=False, adjoint=op.adjoint)
    exchange = f"@_exchange(x, ld_x, n, pivots, 0, m, {int(op.adjoint)});"
    steps = [up, low, exchange] if op.adjoint else [exchange, low, up]
    body = MatrixBody(
        takes=[Taken("a"), Taken("pivots"), Taken("b", into=0)],
        makes=[Made("x")],
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
    """Write the exchanges of 0, 1, 2 ..., and where each number went."""
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
        takes=[Taken("pivots")],
        makes=[Made("permutation")],
        scratch={} if op.inverse else {"order": "int64_t m"},
        text=text,
    )
    write_matrices(op, node, unit, body)
