"""Linear systems: elimination for small matrices, LAPACK and BLAS for others."""

from __future__ import annotations

from treadle.link.numba import TABLE, GraphWriter, indented
from treadle.tensor import TensorNode
from treadle.tensor.linalg.linear_systems import Solve
from treadle.tensor.linalg.lower.numba.cholesky import factorisation, solution
from treadle.tensor.linalg.lower.numba.matrices import SMALL, MatrixBody, MatrixOperand, MatrixResult, write_matrices
from treadle.tensor.linalg.lower.numba.triangular import substitution

# The rules take complex numbers too.
TAKES_COMPLEX = True


def elimination(a: str, columns: str = "") -> list[str]:
    """Return the loops that replace a matrix (m x m, in C order) by its LU factors.

    They set ``odd`` to 1 if rows were exchanged an odd number of times, and ``singular`` to 1 if a pivot is 0. Rows
    of ``x``, which has so many `columns`, are exchanged and subtracted likewise, if there are any.
    """
    exchanged = [("m", a), *([(columns, "x")] if columns else [])]
    lines = [
        "odd = 0",
        "singular = 0",
        "for k in range(m):",
        "    p = k",
        f"    most = $cabs1({a}[k * m + k])",
        "    for i in range(k + 1, m):",
        f"        size = $cabs1({a}[i * m + k])",
        "        if size > most:",
        "            most = size",
        "            p = i",
        "    if p != k:",
        "        odd = 1 - odd",
    ]
    for n, x in exchanged:
        lines += [
            f"        for j in range({n}):",
            f"            held = {x}[k * {n} + j]",
            f"            {x}[k * {n} + j] = {x}[p * {n} + j]",
            f"            {x}[p * {n} + j] = held",
        ]
    lines += [
        "    if most == 0:",
        "        singular = 1",
        "    else:",
        f"        pivot = {a}[k * m + k]",
        # As in LAPACK, multiply by the reciprocal of the pivot where it can be represented.
        "        scale = $T(1) / pivot",
        "        for i in range(k + 1, m):",
        f"            factor = {a}[i * m + k] * scale",
        "            if most <= $tiny:",
        f"                factor = {a}[i * m + k] / pivot",
        f"            {a}[i * m + k] = factor",
        "            for j in range(k + 1, m):",
        f"                {a}[i * m + j] = {a}[i * m + j] - factor * {a}[k * m + j]",
    ]
    if columns:
        n = columns
        lines += [
            f"            for j in range({n}):",
            f"                x[i * {n} + j] = x[i * {n} + j] - factor * x[k * {n} + j]",
        ]
    return lines


# A matrix in C order, which LAPACK sees as its transpose, is factored as it lies: A' = P L U, so that A = U' L' P'.
_GENERAL = f"""\
if m <= {SMALL}:
{chr(10).join(indented(elimination("a", "n")))}
    if singular == 1:
        info = 1
    else:
{chr(10).join(indented(substitution(lower=False), 2))}
else:
    info = $lapack_getrf(m, m, a, m, pivots)
    if info == 0 and n == 1:
        $lapack_getrs("T", m, 1, a, m, pivots, x, m)
    if info == 0 and n > 1:
        $blas_trsm("R", "U", "N", "N", n, m, $T(1), a, m, x, n)
        $blas_trsm("R", "L", "N", "U", n, m, $T(1), a, m, x, n)
        for k in range(m):
            i = m - 1 - k
            p = i8(pivots[i]) - 1
            if p != i:
                for j in range(n):
                    held = x[i * n + j]
                    x[i * n + j] = x[p * n + j]
                    x[p * n + j] = held
"""


@TABLE.register(Solve)
def lower_solve(op: Solve, node: TensorNode, writer: GraphWriter) -> None:
    """Factor a copy as the assumed structure of the matrix allows, and substitute in place."""
    right = MatrixOperand("b", into=0)
    half = "lower" if op.lower else "upper"
    if op.assume_a == "gen":
        body = MatrixBody(
            operands=[MatrixOperand("a", writes=True), right],
            results=[MatrixResult("x")],
            scratch={"pivots": "int m"},
            text=_GENERAL,
        )
    elif op.assume_a == "pos":
        lines = [*factorisation("a", lower=op.lower).splitlines(), "if info == 0:"]
        lines += indented(solution(lower=op.lower).splitlines())
        body = MatrixBody(
            operands=[MatrixOperand("a", writes=True, half=half), right],
            results=[MatrixResult("x")],
            text="\n".join(lines),
        )
    else:
        is_complex = node.inputs[0].type.numpy_dtype.kind == "c"
        call = f'$lapack_{"he" if op.assume_a == "her" and is_complex else "sy"}sv("{half[0].upper()}", m, n'
        body = MatrixBody(
            operands=[MatrixOperand("a", "columns", writes=True, half=half), MatrixOperand("b", "columns", into=0)],
            results=[MatrixResult("x", "columns")],
            query=f"{call}, best, max(m, 1), whole, best, max(m, 1), best, -1)\nn_work = max(i8($re(best[0])), 1)",
            scratch={"pivots": "int m", "work": "T n_work"},
            text=f"info = {call}, a, max(m, 1), pivots, x, max(m, 1), work, n_work)",
        )
    write_matrices(op, node, writer, body)
