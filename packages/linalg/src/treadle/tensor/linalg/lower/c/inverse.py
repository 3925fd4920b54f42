"""Inverses of matrices."""

from __future__ import annotations

from treadle.link.c import TABLE, Unit
from treadle.tensor import TensorNode
from treadle.tensor.linalg.inverses import MatrixInverse
from treadle.tensor.linalg.lower.c.writing import small_matrices
from treadle.tensor.linalg.lower.c.writing.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True

# The inverse of the transpose is the transpose of the inverse.
_INVERSE = MatrixBody(
    operands=[MatrixOperand("a", into=0)],
    results=[MatrixResult("x")],
    routines={"getrf": "iixiii", "getri": "ixiixii"},
    query="int none, ask = -1; $T best = 1; $getri(&m, &best, &ld_x, &none, &best, &ask, &info);",
    scratch={"pivots": "int m", "work": "T (int)$re best"},
    text="""\
$getrf(&m, &m, x, &ld_x, pivots, &info);
  if (!info) $getri(&m, x, &ld_x, pivots, work, &n_work, &info);""",
    small="""\
$V copy[m * m + 1];
  const int64_t r_copy = m, c_copy = 1;
  const int n = m;
  for (int i = 0; i < m; i++) for (int j = 0; j < m; j++) {
    copy[i * m + j] = x[i * r_x + j * c_x];
    x[i * r_x + j * c_x] = ($V){0} + ($T)(i == j);
  }
  """
    + small_matrices.eliminated("copy", x="x")
    + small_matrices.substituted("copy", "x", lower=False),
    alone="m <= 8",
)


@TABLE.register(MatrixInverse)
def matrix_inverse(op: MatrixInverse, node: TensorNode, unit: Unit) -> None:
    """Write the calls of getrf and getri, in the memory of the result."""
    write_matrices(op, node, unit, _INVERSE)
