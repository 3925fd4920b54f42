"""Inverses: elimination for small matrices, LAPACK for others."""

from __future__ import annotations

from treadle.link.numba import TABLE, GraphWriter, indented
from treadle.tensor import TensorNode
from treadle.tensor.linalg.inverses import MatrixInverse
from treadle.tensor.linalg.lower.numba.linear_systems import elimination
from treadle.tensor.linalg.lower.numba.matrices import SMALL, MatrixBody, MatrixOperand, MatrixResult, write_matrices
from treadle.tensor.linalg.lower.numba.triangular import substitution

# The rules take complex numbers too.
TAKES_COMPLEX = True

# The inverse of the transpose is the transpose of the inverse.
_BODY = MatrixBody(
    operands=[MatrixOperand("a", writes=True)],
    results=[MatrixResult("x")],
    query=f"""
n_work = 1
if m > {SMALL}:
    $lapack_getri(m, best, m, whole, best, -1)
    n_work = max(i8($re(best[0])), 1)
""",
    scratch={"pivots": "int m", "work": "T n_work"},
    text=f"""
n = m
if m <= {SMALL}:
    for i in range(m):
        for j in range(m):
            x[i * m + j] = $T(1) if i == j else $T(0)
{chr(10).join(indented(elimination("a", "n")))}
    if singular == 1:
        info = 1
    else:
{chr(10).join(indented(substitution(lower=False), 2))}
else:
    for i in range(m * m):
        x[i] = a[i]
    info = $lapack_getrf(m, m, x, m, pivots)
    if info == 0:
        info = $lapack_getri(m, x, m, pivots, work, n_work)
""",
)


@TABLE.register(MatrixInverse)
def lower_inverse(op: MatrixInverse, node: TensorNode, writer: GraphWriter) -> None:
    """Solve for the identity, or call getrf and getri on the memory of the result."""
    write_matrices(op, node, writer, _BODY)
