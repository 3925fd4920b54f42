"""Systems of banded matrices, by LAPACK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.numba.matrices import Made, MatrixBody, Taken, write_matrices
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.unit import indented
from treadle.tensor import SolveBanded, SolveHermitianBanded

if TYPE_CHECKING:
    from treadle.link.numba.text.writer import GraphWriter
    from treadle.tensor import TensorNode

# The rules take complex numbers too.
TAKES_COMPLEX = True


def _finite(rows: str, above: str) -> str:
    """Return the statements that look at the right side, and at what is read of the diagonals."""
    return f"""
fine = True
for i in range(m * n):
    fine = fine & (x[i] - x[i] == x[i] - x[i])
for j in range(m):
    for k in range(max({above} - j, 0), min({rows}, m + {above} - j)):
        fine = fine & (a[j * {rows} + k] - a[j * {rows} + k] == a[j * {rows} + k] - a[j * {rows} + k])
if not fine:
    info = 1
"""


@TABLE.register(SolveBanded)
def lower_solve_banded(op: SolveBanded, node: TensorNode, writer: GraphWriter) -> None:
    """Call gbsv on columns, which have room above for what pivoting fills."""
    given = op.lower + op.upper + 1
    rows = given + op.lower
    solving = f"""\
for j in range(m):
    for k in range({given}):
        band[j * {rows} + {op.lower} + k] = a[j * {given} + k]
info = $lapack_gbsv(m, {op.lower}, {op.upper}, n, band, {rows}, pivots, x, m)"""
    text = f"""{_finite(str(given), str(op.upper)) if op.check_finite else ""}
if info == 0 and m > 0 and n > 0:
{chr(10).join(indented(solving.splitlines()))}
"""
    body = MatrixBody(
        takes=[Taken("a", "columns"), Taken("b", "columns", into=0)],
        makes=[Made("x", "columns")],
        finite=False,
        scratch={"band": f"T {rows} * m", "pivots": "int m"},
        text=text,
    )
    write_matrices(op, node, writer, body)


@TABLE.register(SolveHermitianBanded)
def lower_solve_hermitian_banded(op: SolveHermitianBanded, node: TensorNode, writer: GraphWriter) -> None:
    """Call pbsv on columns."""
    text = f"""{_finite("r", "0" if op.lower else "(r - 1)") if op.check_finite else ""}
if info == 0 and m > 0 and n > 0:
    info = $lapack_pbsv("{"L" if op.lower else "U"}", m, r - 1, n, a, r, x, m)
"""
    takes = [Taken("a", "columns", writes=True), Taken("b", "columns", into=0)]
    write_matrices(op, node, writer, MatrixBody(takes=takes, makes=[Made("x", "columns")], finite=False, text=text))
