"""Division and parts of floats, as NumPy computes them."""

# mypy: disable-error-code="comparison-overlap, unreachable"

from __future__ import annotations

import math
from typing import TypeVar

from treadle.kernels import kernel
from treadle.kernels.language import (
    Number,
    bits,
    convert,
    copysign,
    floor,
    fmod,
    itemsize,
)
from treadle.tensor.linking.scalar_table import SCALAR_KERNELS

T = TypeVar("T", bound=Number)


@kernel(inline=True)
def floor_div_floats(a: T, b: T) -> T:
    """Round the exact quotient down, within the limits of fmod; over zero take IEEE's quotient."""
    if b == 0:
        return a / b
    rest = fmod(a, b)
    exact = (a - rest) / b
    if rest != 0 and (b < 0) != (rest < 0):
        exact = exact - 1
    if exact == 0:
        return copysign(convert(T, 0), a / b)
    whole = floor(exact)
    return whole + 1 if exact - whole > 0.5 else whole


@kernel(inline=True)
def mod_floats(a: T, b: T) -> T:
    """Return what `floor_div_floats` leaves, with the divisor's sign."""
    rest = fmod(a, b)
    if b == 0:
        return rest
    if rest == 0:
        return copysign(convert(T, 0), b)
    return rest + b if (b < 0) != (rest < 0) else rest


@kernel(inline=True)
def exponent(x: T) -> int:
    """Return that of a number as a mantissa in [0.5, 1) times a power of two; 0 where there is none."""
    mantissa = 23 if itemsize(T) == 4 else 52
    if x == 0 or not abs(x) < math.inf:
        return 0
    # Subnormal numbers are made normal.
    lifted = 0
    if abs(x) < (2.0**-126 if itemsize(T) == 4 else 2.0**-1022):
        lifted = mantissa
        x = x * (2.0**23 if itemsize(T) == 4 else 2.0**52)
    return (bits(abs(x)) >> mantissa) - (126 if itemsize(T) == 4 else 1022) - lifted


SCALAR_KERNELS.register("floor_div", {"f": floor_div_floats})
SCALAR_KERNELS.register("mod", {"f": mod_floats})
SCALAR_KERNELS.register("frexp_exponent", {"f": exponent})
