"""Determinants: products of the pivots of Gaussian elimination, which LAPACK does for larger matrices."""

from __future__ import annotations

from treadle.link.numba import TABLE, GraphWriter, indented
from treadle.tensor import TensorNode
from treadle.tensor.linalg.determinants import Det, SLogDet
from treadle.tensor.linalg.lower.numba.linear_systems import elimination
from treadle.tensor.linalg.lower.numba.matrices import SMALL, MatrixBody, MatrixOperand, MatrixResult, write_matrices

# The rules take complex numbers too.
TAKES_COMPLEX = True

_FACTORED = f"""\
if m <= {SMALL}:
{chr(10).join(indented(elimination("a")))}
else:
    odd = 0
    singular = min($lapack_getrf(m, m, a, m, pivots), 1)
    for i in range(m):
        if i8(pivots[i]) != i + 1:
            odd = 1 - odd
"""
_LOGARITHM = """
unit = $T(1 - 2 * odd)
total = $R(0)
for i in range(m):
    size = $abs(a[i * m + i])
    unit = unit * (a[i * m + i] / size)
    total = total + libm_log_$R(size)
"""
_DET = f"""{_FACTORED}
product = $T(1 - 2 * odd)
for i in range(m):
    product = product * a[i * m + i]
if singular == 1:
    product = $T(0)
elif product == $T(0) or product - product != product - product:
    # A partial product may have overflowed or underflowed.
{chr(10).join(indented(_LOGARITHM.splitlines()))}
    product = unit * libm_exp_$R(total)
det[0] = product
"""
_SLOGDET = f"""{_FACTORED}
{_LOGARITHM}
if singular == 1:
    unit = $T(0)
    total = $R(-INF)
sign[0] = unit
logarithm[0] = total
"""


@TABLE.register(Det)
def lower_det(op: Det, node: TensorNode, writer: GraphWriter) -> None:
    """Multiply the pivots, or add their logarithms where the product overflows."""
    operands, scratch = [MatrixOperand("a", writes=True)], {"pivots": "int m"}
    write_matrices(
        op, node, writer, MatrixBody(operands=operands, results=[MatrixResult("det")], scratch=scratch, text=_DET)
    )


@TABLE.register(SLogDet)
def lower_slogdet(op: SLogDet, node: TensorNode, writer: GraphWriter) -> None:
    """Add the logarithms of the pivots' absolute values, and multiply their signs."""
    results = [MatrixResult("sign"), MatrixResult("logarithm")]
    operands, scratch = [MatrixOperand("a", writes=True)], {"pivots": "int m"}
    write_matrices(op, node, writer, MatrixBody(operands=operands, results=results, scratch=scratch, text=_SLOGDET))
