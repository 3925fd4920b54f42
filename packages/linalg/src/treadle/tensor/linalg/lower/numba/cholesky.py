"""Cholesky factors, and solving with them: loops for small matrices, LAPACK and BLAS for others."""

from __future__ import annotations

from treadle.link.numba import TABLE, GraphWriter, indented
from treadle.tensor import TensorNode
from treadle.tensor.linalg.decompositions.cholesky import Cholesky, CholeskyPullback, CholeskySolve
from treadle.tensor.linalg.lower.numba.matrices import SMALL, MatrixBody, MatrixOperand, MatrixResult, write_matrices
from treadle.tensor.linalg.lower.numba.triangular import substitution

# The rules take complex numbers too.
TAKES_COMPLEX = True


def factorisation(a: str, *, lower: bool) -> str:
    """Return the statements that replace the triangle of a matrix (m x m) that is read by the factor."""
    # The elements of L; for an upper factor, the elements of U that are their conjugates.
    ik, jk, ij = (f"{a}[{i} * m + {k}]" if lower else f"{a}[{k} * m + {i}]" for i, k in ("ik", "jk", "ij"))
    return f"""\
if m > {SMALL}:
    info = $lapack_potrf("{"U" if lower else "L"}", m, {a}, m)
else:
    for j in range(m):
        d = $re({a}[j * m + j])
        for k in range(j):
            v = {jk}
            d = d - $re(v * $conj(v))
        if not d > 0:
            info = 1
        d = sqrt(d)
        {a}[j * m + j] = $T(d)
        d = $R(1) / d
        for i in range(j + 1, m):
            total = {ij}
            for k in range(j):
                total = total - {ik} * $conj({jk})
            {ij} = total * d
"""


def solution(*, lower: bool) -> str:
    """Return the statements that solve with the factor ``a`` (m x m) in ``x`` (m x n); BLAS sees transposes."""
    letter, first, second = ("U", "N", "C") if lower else ("L", "C", "N")
    loops = [*substitution(lower=True, turned=not lower), *substitution(lower=False, turned=lower)]
    return f"""\
if m > {SMALL} and n > 0:
    $blas_trsm("R", "{letter}", "{first}", "N", n, m, $T(1), a, m, x, n)
    $blas_trsm("R", "{letter}", "{second}", "N", n, m, $T(1), a, m, x, n)
else:
{chr(10).join(indented(loops))}
"""


@TABLE.register(Cholesky)
def lower_cholesky(op: Cholesky, node: TensorNode, writer: GraphWriter) -> None:
    """Factor in place."""
    operand = MatrixOperand("a", into=0, half="lower" if op.lower else "upper")
    body = MatrixBody(operands=[operand], results=[MatrixResult("l")], text=factorisation("l", lower=op.lower))
    write_matrices(op, node, writer, body)


# Small matrices run the steps of the factorisation backwards (I. Murray, Differentiation of the Cholesky decomposition,
# 2016); others use his formula with inverses, in place, on a symmetric matrix. BLAS sees transposes.
_BACK = f"""\
if m > {SMALL}:
    $blas_trmm("R", "U", "T", "N", m, m, $T(1), l, m, g, m)
    for i in range(m):
        for j in range(i):
            g[j * m + i] = g[i * m + j]
    $blas_trsm("L", "U", "N", "N", m, m, $T(1), l, m, g, m)
    $blas_trsm("R", "U", "T", "N", m, m, $T(1), l, m, g, m)
    for i in range(m):
        g[i * m + i] = g[i * m + i] / $T(2)
        for j in range(i):
            g[j * m + i] = $T(0)
else:
    for back in range(m):
        j = m - 1 - back
        d = $T(1) / l[j * m + j]
        y = g[j * m + j]
        for i in range(j + 1, m):
            x = g[i * m + j] * d
            g[i * m + j] = x
            y = y - l[i * m + j] * x
            for k in range(j):
                g[j * m + k] = g[j * m + k] - x * l[i * m + k]
                g[i * m + k] = g[i * m + k] - x * l[j * m + k]
        y = y * d
        for k in range(j):
            g[j * m + k] = g[j * m + k] - y * l[j * m + k]
        g[j * m + j] = y / $T(2)
"""


@TABLE.register(CholeskyPullback)
def lower_cholesky_pullback(op: CholeskyPullback, node: TensorNode, writer: GraphWriter) -> None:
    """Run the factorisation backwards in place; an upper triangle is read by columns, as if it were a lower one."""
    half, order = ("lower", "rows") if op.lower else ("upper", "columns")
    operands = [MatrixOperand("l", order, half=half), MatrixOperand("ct", order, into=0, half=half)]
    write_matrices(op, node, writer, MatrixBody(operands=operands, results=[MatrixResult("g", order)], text=_BACK))


@TABLE.register(CholeskySolve)
def lower_cholesky_solve(op: CholeskySolve, node: TensorNode, writer: GraphWriter) -> None:
    """Solve with both triangles in place."""
    operands = [MatrixOperand("a", half="lower" if op.lower else "upper"), MatrixOperand("b", into=0)]
    write_matrices(
        op, node, writer, MatrixBody(operands=operands, results=[MatrixResult("x")], text=solution(lower=op.lower))
    )
