"""Inverses: elimination for small matrices, LAPACK for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.blocks import copied
from treadle.kernels.language import OK, Number, Pointer, int32, lapack, local
from treadle.tensor.linalg.inverses import MatrixInverse
from treadle.tensor.linalg.lower.kernels.eights import eights_inverted
from treadle.tensor.linalg.lower.kernels.linear_systems import small_system_solved
from treadle.tensor.linalg.lower.kernels.matrices import SMALL, identity
from treadle.tensor.linalg.lower.kernels.stacks import Operand, Stack
from treadle.tensor.linalg.lower.kernels.stacks_of_eights import Eights

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)


@kernel(inline=True)
def inverted(m: int, x: Pointer[T], ld_x: int, pivots: Pointer[int32], work: Pointer[T], n_work: int) -> int:
    """Solve for the identity, or by the factors; the inverse of the transpose is the transpose of the inverse."""
    if m <= SMALL:
        if n_work < 0:
            return OK
        a = local(T, SMALL * SMALL)
        for i in range(m):
            copied(x + i * ld_x, a + i * m, m)
        identity(x, m, ld_x)
        return small_system_solved(m, m, a, m, x, ld_x)
    if n_work > 0:
        info = lapack.getrf(m, m, x, ld_x, pivots)
        if info != 0:
            return info
    return lapack.getri(m, x, ld_x, pivots, work, n_work)


@TABLE.register(MatrixInverse)
def matrix_inverse(op: MatrixInverse, node: TensorNode, site: Site) -> None:
    """Invert in the memory of the result."""
    stack = Stack(op, node, site, {"a": Operand(into="x")}, {"x": "rows"})
    rooms = {"pivots": ("int32", stack.lengths["m"]), "work": ("T", None)}
    stack.run(inverted, rooms, eights=Eights(eights_inverted))
