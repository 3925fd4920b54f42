"""Determinants: products of the pivots."""

from __future__ import annotations

from treadle.link.c import TABLE, Unit
from treadle.tensor import TensorNode
from treadle.tensor.linalg.determinants import Det, SLogDet
from treadle.tensor.linalg.lower.c.writing import small_matrices
from treadle.tensor.linalg.lower.c.writing.matrices import MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True

_FACTOR = """\
$getrf(&m, &m, a, &ld_a, pivots, &info);
  int odd = 0;
  for (int i = 0; i < m; i++) odd ^= pivots[i] != i + 1;
"""
_DET = MatrixBody(
    operands=[MatrixOperand("a", "either", writes=True)],
    results=[MatrixResult("det")],
    routines={"getrf": "iixiii"},
    scratch={"pivots": "int m"},
    text=f"""{_FACTOR}\
  $T product = odd ? -1 : 1;
  for (int i = 0; i < m; i++) product *= a[i * (int64_t)(ld_a + 1)];
  *det = info ? 0 : product;
  info = 0;""",
    # Two and three rows have no pivots to search for: the sum of products takes a third of the time.
    small="$V product = ($V){0} + 1;\n    "
    "const $V *const b = a + r_a, *const c = b + r_a;\n    "
    "if (m == 2) product = a[0] * b[c_a] - a[c_a] * b[0];\n    "
    "else if (m == 3)\n      "
    "product = a[0] * (b[c_a] * c[2 * c_a] - b[2 * c_a] * c[c_a]) - a[c_a] * (b[0] * c[2 * c_a] - b[2 * c_a] * c[0])\n"
    "              + a[2 * c_a] * (b[0] * c[c_a] - b[c_a] * c[0]);\n    "
    "else {\n    "
    + small_matrices.eliminated("a", swapped="product = $pick(here, -product, product);")
    + "\n    for (int i = 0; i < m; i++) product *= a[i * (r_a + c_a)];\n    }\n    *det = product;",
    alone="m <= 24",
)
_SLOGDET = MatrixBody(
    operands=[MatrixOperand("a", "either", writes=True)],
    results=[MatrixResult("sign"), MatrixResult("logarithm")],
    routines={"getrf": "iixiii"},
    scratch={"pivots": "int m"},
    text=f"""{_FACTOR}\
  $T unit = odd ? -1 : 1;
  $R sum = 0;
  for (int i = 0; i < m && !info; i++) {{
    const $T x = a[i * (int64_t)(ld_a + 1)];
    const $R size = $abs(x);
    unit *= x / size;
    sum += log$suffix(size);
  }}
  *sign = info ? 0 : unit;
  *logarithm = info ? -INFINITY : sum;
  info = 0;""",
    small="$V unit = ($V){0} + 1, sum = {0};\n    "
    + small_matrices.eliminated("a", swapped="unit = $pick(here, -unit, unit);")
    + """
    for (int i = 0; i < m; i++) {
      $V y = a[i * (r_a + c_a)], size = $abs(y);
      unit = $pick($gt(y, 0), unit, $pick($gt(-y, 0), -unit, y * unit));
      $log(&size);
      sum += size;
    }
    *sign = unit;
    *logarithm = sum;""",
    alone="m <= 24",
)


@TABLE.register(Det)
def det(op: Det, node: TensorNode, unit: Unit) -> None:
    """Write the product of the pivots of getrf; a singular matrix has 0."""
    write_matrices(op, node, unit, _DET)


@TABLE.register(SLogDet)
def slogdet(op: SLogDet, node: TensorNode, unit: Unit) -> None:
    """Write the sum of the logarithms of the pivots' absolute values, and the product of their signs."""
    write_matrices(op, node, unit, _SLOGDET)
