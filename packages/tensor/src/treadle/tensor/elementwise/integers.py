"""Functions of integers; nothing flows back through them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.elementwise.arithmetic import abs_, floor_div, mod
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, neq
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["bitwise_count", "ceil_intdiv", "gcd", "lcm"]


def _lcm(x: TensorVariable, y: TensorVariable) -> TensorVariable:
    a, b = abs_(x), abs_(y)
    divisor = gcd(a, b)
    return switch(eq(divisor, 0), 0, floor_div(a, divisor) * b)


def _bitwise_count(x: TensorVariable) -> TensorVariable:
    """Add up pairs of bits, then pairs of these sums, all numbers at once (Warren, Hacker's Delight, 5-1)."""
    n = cast(x if x.type.numpy_dtype.kind == "u" else abs_(x), "uint64")
    if x.type.numpy_dtype.itemsize < 8:
        # The least integer is its own absolute value.
        n = n & (2 ** (8 * x.type.numpy_dtype.itemsize) - 1)
    n = n - ((n >> 1) & 0x5555555555555555)
    n = (n & 0x3333333333333333) + ((n >> 2) & 0x3333333333333333)
    n = (n + (n >> 4)) & 0x0F0F0F0F0F0F0F0F
    return cast((n * 0x0101010101010101) >> 56, "uint8")


gcd: Elemwise = elementwise(ufunc="gcd", commutative=True, associative=True)
lcm = elementwise(ufunc="lcm", commutative=True, body=_lcm, zero_of=(0, 1))
bitwise_count = elementwise(ufunc="bitwise_count", body=_bitwise_count)


def ceil_intdiv(a: TensorLike, b: TensorLike) -> TensorVariable:
    """Return the quotient of integers, rounded up: ``-(-a // b)`` without its overflows.

    Examples
    --------
    >>> tt.ceil_intdiv([4, 5, 6], 3).eval()
    array([2, 2, 2])
    """
    quotient: TensorVariable = floor_div(a, b)
    return quotient + cast(neq(mod(a, b), 0), quotient.dtype)
