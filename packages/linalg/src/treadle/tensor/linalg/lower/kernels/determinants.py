"""Determinants: products of the pivots of Gaussian elimination, which LAPACK does for larger matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Length, Site, kernel
from treadle.kernels.language import (
    OK,
    Number,
    Pointer,
    convert,
    exp,
    int32,
    is_complex,
    lapack,
    local,
    log,
    numbers,
    real_of,
    select,
    which,
)
from treadle.tensor.linalg.determinants import Det, SLogDet
from treadle.tensor.linalg.lower.kernels.eights import ALL, eights_eliminated
from treadle.tensor.linalg.lower.kernels.lu import eliminated
from treadle.tensor.linalg.lower.kernels.matrices import SMALL, if_larger
from treadle.tensor.linalg.lower.kernels.stacks import Operand, Stack
from treadle.tensor.linalg.lower.kernels.stacks_of_eights import Eights

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)
R = TypeVar("R", bound=Number)


@kernel(inline=True)
def pivoted(m: int, a: Pointer[T], ld_a: int, pivots: Pointer[int32]) -> int:
    """Replace A by its LU factors; return what `eliminated` does."""
    if m <= SMALL:
        return eliminated(m, a, ld_a, 0, a, ld_a)
    info = lapack.getrf(m, m, a, ld_a, pivots)
    if info != 0:
        return -1
    odd = 0
    for i in range(m):
        if pivots[i] != i + 1:
            odd = 1 - odd
    return odd


@kernel(inline=True)
def few_rows_multiplied(m: int, a: Pointer[T], ld_a: int) -> T:
    """Return the determinant of two or three rows by its definition."""
    b = a + ld_a
    if m == 2:
        return a[0] * b[1] - a[1] * b[0]
    c = b + ld_a
    return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0])


@kernel(inline=True)
def logarithm_of_pivots(m: int, a: Pointer[T], ld_a: int, odd: int, sign: Pointer[T], logarithm: Pointer[R]) -> int:
    """Write the product of the signs, and the sum of the logarithms of the absolute values."""
    unit = convert(T, 1 - 2 * odd)
    total = convert(real_of(T), 0)
    for i in range(m):
        size = abs(a[i * (ld_a + 1)])
        unit = unit * (a[i * (ld_a + 1)] / size)
        total += log(size)
    sign[0] = unit
    logarithm[0] = total
    return OK


@kernel(inline=True)
def determined(m: int, a: Pointer[T], ld_a: int, det: Pointer[T], pivots: Pointer[int32], total: Pointer[R]) -> int:
    """Multiply the pivots, or add their logarithms where a partial product overflows or underflows."""
    if (m == 2 or m == 3) and not is_complex(T):
        # Such few rows have no pivots to search for: this takes a third of the time.
        known = few_rows_multiplied(m, a, ld_a)
        if known != 0 and known - known == 0:
            det[0] = known
            return OK
    odd = pivoted(m, a, ld_a, pivots)
    if odd < 0:
        det[0] = 0
        return OK
    product = convert(T, 1 - 2 * odd)
    for i in range(m):
        product = product * a[i * (ld_a + 1)]
    if product == 0 or product - product != 0:
        logarithm_of_pivots(m, a, ld_a, odd, det, total)
        product = det[0] * exp(total[0])
    det[0] = product
    return OK


@kernel(inline=True)
def logarithm_determined(
    m: int, a: Pointer[T], ld_a: int, sign: Pointer[T], logarithm: Pointer[R], pivots: Pointer[int32]
) -> int:
    """Write sign and logarithm; those of a singular matrix are 0 and minus infinity."""
    odd = pivoted(m, a, ld_a, pivots)
    if odd < 0:
        sign[0] = 0
        logarithm[0] = -math.inf
        return OK
    return logarithm_of_pivots(m, a, ld_a, odd, sign, logarithm)


@kernel(inline=True)
def eights_determined(m: int, a: Pointer[T], det: Pointer[T]) -> int:
    """Multiply the pivots of eight at once, or do for each what `determined` does where that overflows."""
    known = convert(T, 0)
    if m == 2 or m == 3:
        known = few_rows_multiplied(m, a, m)
        det[0] = known
        if which((known != 0) & (known - known == 0)) == ALL:
            return OK
    sign = local(T, 1)
    singular = eights_eliminated(m, a, 0, a, sign)
    product = sign[0]
    for i in range(m):
        product *= a[i * (m + 1)]
    product = select((known != 0) & (known - known == 0), known, product)
    det[0] = product
    again = which((product == 0) | ~(product - product == 0))
    if again != 0:
        for lane in range(8):
            if (again >> lane) & 1 == 1:
                own = numbers(det) + lane
                logarithm = numbers(sign) + lane
                if (singular >> lane) & 1 == 1:
                    own[0] = 0
                else:
                    odd = int(logarithm[0] < 0)
                    logarithm_of_pivots(m, numbers(a) + lane, 8 * m + 7, odd, own, logarithm)
                    own[0] = own[0] * exp(logarithm[0])
    return OK


def pivots_needed(stack: Stack) -> Length:
    """Return the room for pivots, which small matrices do not need."""
    return stack.site.compute(if_larger, stack.lengths["m"], SMALL)


@TABLE.register(Det)
def det(op: Det, node: TensorNode, site: Site) -> None:
    """Multiply the pivots."""
    stack = Stack(op, node, site, {"a": Operand("either", writes=True)}, {"det": "rows"})
    eights = Eights(eights_determined)
    stack.run(determined, {"pivots": ("int32", pivots_needed(stack)), "total": ("R", 1)}, eights=eights)


@TABLE.register(SLogDet)
def slogdet(op: SLogDet, node: TensorNode, site: Site) -> None:
    """Add the logarithms of the pivots' absolute values, and multiply their signs."""
    stack = Stack(op, node, site, {"a": Operand("either", writes=True)}, {"sign": "rows", "logarithm": "rows"})
    stack.run(logarithm_determined, {"pivots": ("int32", pivots_needed(stack))})
