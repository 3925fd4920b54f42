"""Triangular systems: substitution for small matrices, BLAS for others."""

from __future__ import annotations

from treadle.link.numba import TABLE, GraphWriter, indented
from treadle.tensor import TensorNode
from treadle.tensor.linalg.lower.numba.matrices import SMALL, MatrixBody, MatrixOperand, MatrixResult, write_matrices
from treadle.tensor.linalg.triangular_systems import SolveTriangular

# The rules take complex numbers too.
TAKES_COMPLEX = True


def substitution(*, lower: bool, turned: bool = False, unit: bool = False) -> list[str]:
    """Return the loops that solve with a triangle of ``a`` (m x m, in C order), in place in ``x`` (m x n).

    `lower` says which row of the system is solved first, `turned` that it is that of the conjugate transpose of
    ``a``, `unit` that the diagonal is taken to be 1.
    """
    element = "$conj(a[k * m + i])" if turned else "a[i * m + k]"
    pivot = "$conj(a[i * m + i])" if turned else "a[i * m + i]"
    row = ["i = p"] if lower else ["i = m - 1 - p"]
    before = "for k in range(p):" if lower else "for k in range(i + 1, m):"
    # For vectors, accumulate each sum in a variable, without a store for each term.
    lines = [
        "if n == 1:",
        "    for p in range(m):",
        *indented(row, 2),
        "        summed = x[i]",
        f"        {before}",
        f"            summed = summed - {element} * x[k]",
        f"        x[i] = summed{'' if unit else f' / {pivot}'}",
        "else:",
        "    for p in range(m):",
        *indented(row, 2),
        f"        {before}",
        f"            factor = {element}",
        "            for j in range(n):",
        "                x[i * n + j] = x[i * n + j] - factor * x[k * n + j]",
    ]
    if not unit:
        lines += [
            f"        pivot = {pivot}",
            "        for j in range(n):",
            "            x[i * n + j] = x[i * n + j] / pivot",
        ]
    return lines


@TABLE.register(SolveTriangular)
def lower_solve_triangular(op: SolveTriangular, node: TensorNode, writer: GraphWriter) -> None:
    """Solve in place; BLAS sees X' and the transpose of the matrix."""
    half = "lower" if op.lower else "upper"
    letter = "U" if op.lower else "L"
    unit = "U" if op.unit_diagonal else "N"
    text = ""
    if not op.unit_diagonal:
        text = """
for i in range(m):
    if a[i * m + i] == $T(0):
        info = 1
"""
    loops = "\n".join(f"        {line}" for line in substitution(lower=op.lower, unit=op.unit_diagonal))
    text += f"""
if info == 0 and m > 0 and n > 0:
    if m > {SMALL}:
        if n == 1:
            $blas_trsv("{letter}", "T", "{unit}", m, a, m, x, 1)
        else:
            $blas_trsm("R", "{letter}", "N", "{unit}", n, m, $T(1), a, m, x, n)
    else:
{loops}
"""
    operand = MatrixOperand("a", half=half, strict=op.unit_diagonal)
    body = MatrixBody(operands=[operand, MatrixOperand("b", into=0)], results=[MatrixResult("x")], text=text)
    write_matrices(op, node, writer, body)
