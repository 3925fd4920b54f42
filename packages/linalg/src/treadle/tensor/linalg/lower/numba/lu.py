"""LU factors, and solving with them: substitution for small matrices, LAPACK and BLAS for others."""

from __future__ import annotations

from treadle.link.numba import TABLE, GraphWriter, indented
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.lu import LUFactor, LUSolve, PivotToPermutations
from treadle.tensor.linalg.lower.numba.matrices import SMALL, MatrixBody, MatrixOperand, MatrixResult, write_matrices
from treadle.tensor.linalg.lower.numba.triangular import substitution

# The rules take complex numbers too.
TAKES_COMPLEX = True


@TABLE.register(LUFactor)
def lower_lu_factor(op: LUFactor, node: TensorNode, writer: GraphWriter) -> None:
    """Call getrf on columns; LAPACK counts pivots from 1. Singular matrices have factors too."""
    text = """
if m > 0 and n > 0:
    $lapack_getrf(m, n, lu, m, pivots)
for i in range(min(m, n)):
    pivots[i] = i4(i8(pivots[i]) - 1) if m > 0 and n > 0 else i4(i)
"""
    results = [MatrixResult("lu", "columns"), MatrixResult("pivots")]
    write_matrices(
        op, node, writer, MatrixBody(operands=[MatrixOperand("a", "columns", into=0)], results=results, text=text)
    )


_CHECKED = """
for i in range(m):
    p = i8(pivots[i])
    if p < 0 or p >= m:
        info = 1
"""


@TABLE.register(LUSolve)
def lower_lu_solve(op: LUSolve, node: TensorNode, writer: GraphWriter) -> None:
    """Exchange rows and solve with both triangles, in reverse order for the adjoint; BLAS sees transposes."""
    exchange = f"""
for k in range(m):
    i = {"m - 1 - k" if op.adjoint else "k"}
    p = i8(pivots[i])
    if p != i:
        for j in range(n):
            held = x[i * n + j]
            x[i * n + j] = x[p * n + j]
            x[p * n + j] = held
"""
    turned = op.adjoint
    solve = '$blas_trsm("R", "{}", "{}", "{}", n, m, $T(1), a, m, x, n)'
    calls = [solve.format("U", "C" if turned else "N", "U"), solve.format("L", "C" if turned else "N", "N")]
    loops = [substitution(lower=not turned, turned=turned, unit=True), substitution(lower=turned, turned=turned)]
    if turned:
        calls.reverse()
        loops.reverse()
    lines = [f"if m <= {SMALL}:", *indented([*loops[0], *loops[1]]), "elif n > 0:", *indented(calls)]
    steps = ["\n".join(lines), exchange] if turned else [exchange, "\n".join(lines)]
    inside = "\n".join(indented("\n".join(steps).splitlines()))
    text = f"""{_CHECKED}
for i in range(m):
    if a[i * m + i] == $T(0):
        info = 1
if info == 0:
{inside}
"""
    operands = [MatrixOperand("a"), MatrixOperand("pivots"), MatrixOperand("b", into=0)]
    write_matrices(op, node, writer, MatrixBody(operands=operands, results=[MatrixResult("x")], text=text))


@TABLE.register(PivotToPermutations)
def lower_permutation(op: PivotToPermutations, node: TensorNode, writer: GraphWriter) -> None:
    """Apply the exchanges to the numbers 0, 1, 2 ..., one after the other."""
    positions = "order" if op.inverse else "work"
    inside = f"""\
for i in range(m):
    {positions}[i] = i
for i in range(m):
    p = i8(pivots[i])
    held = {positions}[i]
    {positions}[i] = {positions}[p]
    {positions}[p] = held
"""
    if not op.inverse:
        inside += "for i in range(m):\n    order[work[i]] = i\n"
    text = "\n".join([_CHECKED, "if info == 0:", *indented(inside.splitlines())])
    body = MatrixBody(
        operands=[MatrixOperand("pivots")], results=[MatrixResult("order")], scratch={"work": "i8 m"}, text=text
    )
    write_matrices(op, node, writer, body)
