"""Cholesky factors and solutions by them: loops for small matrices, LAPACK and BLAS for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.numba.lower.triangular import substitution
from treadle.link.numba.matrices import SMALL, Made, MatrixBody, Taken, write_matrices
from treadle.link.numba.table import TABLE
from treadle.link.numba.unit import indented
from treadle.tensor import Cholesky, CholeskySolve

if TYPE_CHECKING:
    from treadle.link.numba.writer import GraphWriter
    from treadle.tensor import TensorNode


def factorisation(a: str, *, lower: bool) -> str:
    """Return the statements that put the factor of a matrix (m x m) in place of the triangle that is read."""
    # Elements of L, or of U where the conjugates of L's stand.
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
    """Return the statements that solve by the factor ``a`` (m x m) in ``x`` (m x n); BLAS sees transposes."""
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
    taken = Taken("a", into=0, half="lower" if op.lower else "upper")
    body = MatrixBody(takes=[taken], makes=[Made("l")], text=factorisation("l", lower=op.lower))
    write_matrices(op, node, writer, body)


@TABLE.register(CholeskySolve)
def lower_cholesky_solve(op: CholeskySolve, node: TensorNode, writer: GraphWriter) -> None:
    """Solve by both triangles in place."""
    takes = [Taken("a", half="lower" if op.lower else "upper"), Taken("b", into=0)]
    write_matrices(op, node, writer, MatrixBody(takes=takes, makes=[Made("x")], text=solution(lower=op.lower)))
