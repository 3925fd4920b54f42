"""Systems of banded matrices, by LAPACK."""

from __future__ import annotations

from treadle.link.numba import TABLE, GraphWriter, indented
from treadle.tensor import TensorNode
from treadle.tensor.linalg.linear_systems import SolveBanded, SolveHermitianBanded
from treadle.tensor.linalg.lower.numba.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True


def _finite(rows: str, above: str) -> str:
    """Return the statements that check that the right side, and the part of the diagonals that is read, are finite."""
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
    """Call gbsv, on columns with extra rows on top, which pivoting fills."""
    diagonals = op.lower + op.upper + 1
    rows = diagonals + op.lower
    solving = f"""\
for j in range(m):
    for k in range({diagonals}):
        band[j * {rows} + {op.lower} + k] = a[j * {diagonals} + k]
info = $lapack_gbsv(m, {op.lower}, {op.upper}, n, band, {rows}, pivots, x, m)"""
    text = f"""{_finite(str(diagonals), str(op.upper)) if op.check_finite else ""}
if info == 0 and m > 0 and n > 0:
{chr(10).join(indented(solving.splitlines()))}
"""
    body = MatrixBody(
        operands=[MatrixOperand("a", "columns"), MatrixOperand("b", "columns", into=0)],
        results=[MatrixResult("x", "columns")],
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
    operands = [MatrixOperand("a", "columns", writes=True), MatrixOperand("b", "columns", into=0)]
    write_matrices(
        op, node, writer, MatrixBody(operands=operands, results=[MatrixResult("x", "columns")], finite=False, text=text)
    )
