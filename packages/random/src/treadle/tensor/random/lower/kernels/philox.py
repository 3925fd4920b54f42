"""Kernels of Philox 4x32-10, and of the functions that draws are made of.

`treadle.tensor.random.generators.philox` defines the generator. Kernels draw by the tile: `TILE` blocks at once, of
each of which the four words lie in two numbers of 64 bits, the first of a pair in the low half.
"""

from __future__ import annotations

from treadle.kernels import kernel
from treadle.kernels.language import (
    OK,
    Pointer,
    bits,
    from_bits,
    independent,
    int64,
    uint64,
    unrolled,
)
from treadle.tensor.random.generators.philox import INCREMENTS, MULTIPLIERS, ROUNDS
from treadle.tensor.random.generators.rejection import STIRLING_P, STIRLING_Q

TILE = 32
# How many elements are drawn together: attempts after the first fill tiles with those that are left.
BATCH = 512
# How many numbers of double precision the widest vectors hold.
WIDE = 8
LOW = 2**32 - 1


@kernel(inline=True)
def blocks(
    key: int,
    stream: int,
    at: int,
    places: Pointer[int64],
    attempt: int,
    x: Pointer[uint64],
    y: Pointer[uint64],
    *,
    together: bool,
) -> int:
    """Write the words of blocks that follow each other from a position on, or stand at some places behind it."""
    for e in independent(range(TILE), WIDE):
        position = uint64(at + (e if together else places[e]))
        c0 = position & LOW
        c1 = position >> 32
        c2 = uint64(stream) & LOW
        c3 = uint64(attempt)
        for r in unrolled(range(ROUNDS)):
            a = c0 * MULTIPLIERS[0]
            b = c2 * MULTIPLIERS[1]
            c0 = (b >> 32) ^ c1 ^ ((uint64(key) + INCREMENTS[0] * r) & LOW)
            c2 = (a >> 32) ^ c3 ^ (((uint64(key) >> 32) + INCREMENTS[1] * r) & LOW)
            c1 = b & LOW
            c3 = a & LOW
        x[e] = c0 | (c1 << 32)
        y[e] = c2 | (c3 << 32)
    return OK


@kernel
def blocks_at(
    key: int, stream: int, at: int, places: Pointer[int64], attempt: int, x: Pointer[uint64], y: Pointer[uint64]
) -> int:
    """Write the words of blocks at some places behind a position; once, for all attempts."""
    return blocks(key, stream, at, places, attempt, x, y, together=False)


@kernel(inline=True)
def fraction(x: uint64) -> float:
    """Return the number in [0, 1) that the upper 53 bits say."""
    return float(int(x >> 11)) * 2.0**-53


@kernel(inline=True)
def first_word(x: uint64) -> float:
    """Return the word in the low half."""
    return float(int(x & LOW))


@kernel(inline=True)
def last_word(x: uint64) -> float:
    """Return the word in the high half."""
    return float(int(x >> 32))


# log(1 + f) = 2 artanh(s), s = f / (2 + f), where 1 + f is x over the power of two that brings it nearest to 1; sin
# and cos of what is left of the nearest multiple of pi / 2, taken off in two parts, of which the first has so few bits
# that its multiples up to 4 are exact. The polynomials are Chebyshev approximations of
# (2 artanh(s) - 2 s) / s**3, (sin(x) - x) / x**3 and (cos(x) - 1 + x**2 / 2) / x**4 in squares, to 2e-18 of 1.


def _constants(text: str) -> tuple[float, ...]:
    return tuple(map(float.fromhex, text.split()))


_LOG = _constants(
    "0x1.5555555555558p-1 0x1.9999999995273p-2 0x1.2492492dfd86cp-2 0x1.c71c62d5e53e0p-3 0x1.7462b91b8df65p-3 "
    "0x1.39fdcceb4bb45p-3 0x1.2b5f68a50d903p-3"
)
_SIN = _constants(
    "-0x1.5555555555555p-3 0x1.1111111110babp-7 -0x1.a01a019e820aep-13 0x1.71de37946ed6dp-19 -0x1.ae6008d114485p-26 "
    "0x1.5e0a4fc16be59p-33"
)
_COS = _constants(
    "0x1.5555555555555p-5 -0x1.6c16c16c16963p-10 0x1.a01a019f4ddfdp-16 -0x1.27e4fa16cc2d1p-22 0x1.1eeb67d026ec6p-29 "
    "-0x1.907cd8ff5ede7p-37"
)
_EXP = _constants(
    "0x1.0000000000001p-1 0x1.5555555555556p-3 0x1.5555555553d37p-5 0x1.11111111109a6p-7 0x1.6c16c1789d1d7p-10 "
    "0x1.a01a01a7cebcdp-13 0x1.a019b8ca26fcfp-16 0x1.71de0d85293b8p-19 0x1.2891d4ffbb0f9p-22 0x1.af390ba7e6f47p-26"
)
# log 2 and pi / 2 in two parts; 2 / pi and 1 / log 2.
_LN2, _LN2_REST, _PER_LN2 = _constants("0x1.62e42fefa2p-1 0x1.9ef35793c7673p-41 0x1.71547652b82fep+0")
_QUARTER, _QUARTER_REST, _QUARTERS = _constants("0x1.921fb54442d18p+0 0x1.1a62633145c07p-54 0x1.45f306dc9c883p-1")
# What is added to a number to round it to an integer in its low bits.
_ROUND = 1.5 * 2.0**52
_SIGN = -(2**63)
TURN = 2.0 * 3.141592653589793


@kernel(inline=True)
def log_of(x: float) -> float:
    """Return the logarithm of a normal number."""
    n = uint64(bits(x)) - 0x6A09E667F3BCD
    k = from_bits((n >> 52) | 0x4330000000000000) - (2.0**52 + 1022.0)
    f = from_bits((n & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD) - 1.0
    s = f / (2.0 + f)
    z = s * s
    half = f * f * 0.5
    rest = _LOG[6]
    for j in unrolled(range(5, -1, -1)):
        rest = _LOG[j] + z * rest
    return k * _LN2 - ((half - (s * (half + z * rest) + k * _LN2_REST)) - f)


@kernel(inline=True)
def turned(x: float, *, cosine: bool) -> float:
    """Return the sine or the cosine of a number from -4 pi to 4 pi."""
    q = x * _QUARTERS + _ROUND
    n = q - _ROUND
    y = (x - n * _QUARTER) - n * _QUARTER_REST
    z = y * y
    s = _SIN[5]
    c = _COS[5]
    for j in unrolled(range(4, -1, -1)):
        s = _SIN[j] + z * s
        c = _COS[j] + z * c
    s = y + y * z * s
    c = 1.0 - (z * 0.5 - z * z * c)
    odd = bits(q) & 1
    below = bits(q) << 62
    if cosine:
        below = below ^ (odd << 63)
    return from_bits(bits(c if (odd != 0) != cosine else s) ^ (below & _SIGN))


@kernel(inline=True)
def log1p_of(x: float) -> float:
    """Return log(1 + x): the logarithm of the sum as it is rounded, and of what rounding took."""
    u = 1.0 + x
    return log_of(u) + (x - (u - 1.0)) / u


@kernel(inline=True)
def exp_of(x: float) -> float:
    """Return the exponential of a number below 709: a polynomial in what is left of the nearest multiple of log 2."""
    y = -800.0 if x < -800.0 else x  # noqa: FURB136 - NaN stays
    k = y * _PER_LN2 + _ROUND
    n = k - _ROUND
    r = (y - n * _LN2) - n * _LN2_REST
    power = uint64(bits(k)) - 0x4338000000000000
    half = ((power + 4096) >> 1) - 2048
    rest = _EXP[9]
    for j in unrolled(range(8, -1, -1)):
        rest = _EXP[j] + r * rest
    e = 1.0 + (r + r * r * rest)
    return e * from_bits((half + 1023) << 52) * from_bits((power - half + 1023) << 52)


@kernel(inline=True)
def stirling(z: float) -> float:
    """Return what Stirling's formula lacks to the logarithm of the gamma function of z >= 1."""
    t = 1.0 / z
    above = STIRLING_P[5]
    below = STIRLING_Q[5]
    for j in unrolled(range(4, -1, -1)):
        above = above * t + STIRLING_P[j]
        below = below * t + STIRLING_Q[j]
    return t * above / below


@kernel(inline=True)
def gamma_shift(z: float, d: float) -> float:
    """Return log Gamma(z + d) - log Gamma(z) - d log z for z and z + d of 1 or more."""
    return (z + d - 0.5) * log1p_of(d / z) - d + (stirling(z + d) - stirling(z))
