"""Cholesky factors and solutions by them: loops for small matrices, LAPACK and BLAS for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.numba.lower.triangular import substitution
from treadle.link.numba.matrices import SMALL, Made, MatrixBody, Taken, write_matrices
from treadle.link.numba.table import TABLE
from treadle.tensor import Cholesky, CholeskySolve

if TYPE_CHECKING:
    from treadle.link.numba.writer import GraphWriter
    from treadle.tensor import TensorNode


@TABLE.register(Cholesky)
def lower_cholesky(op: Cholesky, node: TensorNode, writer: GraphWriter) -> None:
    """Factor in place, column of L after column."""
    half, letter = ("lower", "U") if op.lower else ("upper", "L")
    # Elements of L, or of U where the conjugates of L's stand.
    ik, jk, ij = (f"l[{i} * m + {k}]" if op.lower else f"l[{k} * m + {i}]" for i, k in ("ik", "jk", "ij"))
    text = f"""
    if m > {SMALL}:
        info = $lapack_potrf("{letter}", m, l, m)
    else:
        for j in range(m):
            d = $re(l[j * m + j])
            for k in range(j):
                v = {jk}
                d = d - $re(v * $conj(v))
            if not d > 0:
                info = 1
            d = sqrt(d)
            l[j * m + j] = $T(d)
            d = $R(1) / d
            for i in range(j + 1, m):
                total = {ij}
                for k in range(j):
                    total = total - {ik} * $conj({jk})
                {ij} = total * d
    """
    body = MatrixBody(takes=[Taken("a", into=0, half=half)], makes=[Made("l")], text=text)
    write_matrices(op, node, writer, body)


@TABLE.register(CholeskySolve)
def lower_cholesky_solve(op: CholeskySolve, node: TensorNode, writer: GraphWriter) -> None:
    """Solve by both triangles in place; BLAS sees X' and the transpose of the factor."""
    half, letter, first, second = ("lower", "U", "N", "C") if op.lower else ("upper", "L", "C", "N")
    solve = """$blas_trsm("R", "{}", "{}", "N", n, m, $T(1), a, m, x, n)"""
    lines = [
        f"if m > {SMALL}:",
        "    if n > 0:",
        *(f"        {solve.format(letter, turned)}" for turned in (first, second)),
        "else:",
        *(f"    {line}" for line in substitution(lower=True, turned=not op.lower)),
        *(f"    {line}" for line in substitution(lower=False, turned=op.lower)),
    ]
    body = MatrixBody(takes=[Taken("a", half=half), Taken("b", into=0)], makes=[Made("x")], text="\n".join(lines))
    write_matrices(op, node, writer, body)
