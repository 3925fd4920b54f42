"""Functions of complex numbers as NumPy computes them, where the C library's differ or are missing."""

from __future__ import annotations

import math
from typing import TypeVar

from treadle.kernels import kernel
from treadle.kernels.language import (
    Number,
    atan2,
    compose,
    convert,
    copysign,
    cos,
    exp,
    expm1,
    hypot,
    imag,
    log,
    power,
    real,
    real_of,
    rint,
    select,
    sin,
)
from treadle.tensor.linking.scalar_table import SCALAR_KERNELS

T = TypeVar("T", bound=Number)


@kernel(inline=True)
def complex_reciprocal(a: T) -> T:
    """Divide by the larger part first, by Smith's algorithm (1962)."""
    ar = real(a)
    ai = imag(a)
    if abs(ai) <= abs(ar):
        low = ai / ar
        size = ar + ai * low
        return compose(1 / size, -low / size)
    high = ar / ai
    other = ar * high + ai
    return compose(high / other, -1 / other)


@kernel(inline=True)
def complex_power(a: T, b: T) -> T:
    """Take whole exponents by squaring."""
    br = real(b)
    if br == 0 and imag(b) == 0:
        return convert(T, 1)
    if real(a) == 0 and imag(a) == 0:
        nothing = convert(real_of(T), 0 if br > 0 else math.nan)
        return compose(nothing, nothing)
    n = int(br) if abs(br) < 100 else 0
    if imag(b) != 0 or convert(real_of(T), n) != br:
        return power(a, b)
    if n == 1:
        return a
    if n == 2:
        return a * a
    if n == 3:
        return a * (a * a)
    result = convert(T, 1)
    factor = a
    n = abs(n)
    while True:
        if n & 1 != 0:
            result = result * factor
        n = n >> 1
        if n == 0:
            break
        factor = factor * factor
    return complex_reciprocal(result) if br < 0 else result


@kernel(inline=True)
def complex_over(a: T, b: T) -> T:
    """Divide by Smith's algorithm (1962)."""
    ar = real(a)
    ai = imag(a)
    br = real(b)
    bi = imag(b)
    if abs(br) >= abs(bi):
        if br == 0 and bi == 0:
            return compose(ar / abs(br), ai / abs(br))
        low = bi / br
        unit = 1 / (br + bi * low)
        return compose((ar + ai * low) * unit, (ai - ar * low) * unit)
    high = br / bi
    scale = 1 / (bi + br * high)
    return compose((ar * high + ai) * scale, (ai * high - ar) * scale)


# Numbers are in the order of their real parts, then of the imaginary ones; nothing is larger than what has a NaN, nor
# smaller.


@kernel(inline=True)
def is_above(a: T, b: T) -> bool:
    """Whether a number is larger."""
    ai = imag(a)
    bi = imag(b)
    return (real(a) > real(b) and ai == ai and bi == bi) or (real(a) == real(b) and ai > bi)


@kernel(inline=True)
def reaches(a: T, b: T) -> bool:
    """Whether a number is larger or equal."""
    ai = imag(a)
    bi = imag(b)
    return (real(a) > real(b) and ai == ai and bi == bi) or (real(a) == real(b) and ai >= bi)


@kernel(inline=True)
def is_below(a: T, b: T) -> bool:
    """Whether a number is smaller."""
    return is_above(b, a)


@kernel(inline=True)
def is_reached(a: T, b: T) -> bool:
    """Whether a number is smaller or equal."""
    return reaches(b, a)


@kernel(inline=True)
def not_behind(a: T, b: T) -> bool:
    """Return what `reaches` does, without jumps: quicker where a number is chosen by it."""
    ai = imag(a)
    bi = imag(b)
    first = (real(a) > real(b)) & (ai == ai) & (bi == bi)
    return first | ((real(a) == real(b)) & (ai >= bi))


@kernel(inline=True)
def complex_maximum(a: T, b: T) -> T:
    """Return the larger number; the first NaN stays."""
    return select((a != a) | not_behind(a, b), a, b)


@kernel(inline=True)
def complex_minimum(a: T, b: T) -> T:
    """Return the smaller number; the first NaN stays."""
    return select((a != a) | not_behind(b, a), a, b)


@kernel
def complex_sign(a: T) -> T:
    """Return a number of length 1; of one that is infinite in one part, that part's sign."""
    ar = real(a)
    ai = imag(a)
    size = hypot(ar, ai)
    if size == 0:
        return convert(T, 0)
    if size != size:
        return compose(size, size)
    if size < math.inf:
        return compose(ar / size, ai / size)
    nan = convert(real_of(T), math.nan)
    if abs(ar) == math.inf and abs(ai) == math.inf:
        return compose(nan, nan)
    zero = convert(real_of(T), 0)
    return compose(copysign(1, ar), zero) if abs(ar) == math.inf else compose(zero, copysign(1, ai))


@kernel(inline=True)
def complex_log1p(a: T) -> T:
    """Return log(1 + a)."""
    ar = real(a) + 1
    return compose(log(hypot(ar, imag(a))), atan2(imag(a), ar))


@kernel(inline=True)
def complex_expm1(a: T) -> T:
    """Return exp(a) - 1."""
    ar = real(a)
    ai = imag(a)
    half = sin(ai / 2)
    return compose(expm1(ar) * cos(ai) - 2 * half * half, exp(ar) * sin(ai))


@kernel(inline=True)
def complex_rint(a: T) -> T:
    """Round both parts to the nearest integers, ties to even."""
    return compose(rint(real(a)), rint(imag(a)))


for _name, _kernel in {
    "expm1": complex_expm1,
    "ge": reaches,
    "gt": is_above,
    "le": is_reached,
    "log1p": complex_log1p,
    "lt": is_below,
    "maximum": complex_maximum,
    "minimum": complex_minimum,
    "pow": complex_power,
    "reciprocal": complex_reciprocal,
    "round_half_to_even": complex_rint,
    "sign": complex_sign,
    "true_div": complex_over,
}.items():
    SCALAR_KERNELS.register(_name, {"c": _kernel})
