"""Samplers that may reject: integers, gamma, von Mises' and Zipf's distribution."""

from __future__ import annotations

from treadle.kernels import kernel
from treadle.kernels.language import (
    OK,
    Pointer,
    atan,
    bits,
    expm1,
    float64,
    floor,
    from_bits,
    independent,
    int64,
    local,
    sqrt,
    uint64,
    unrolled,
)
from treadle.tensor.random.lower.kernels.philox import (
    BATCH,
    LOW,
    TILE,
    TURN,
    WIDE,
    blocks_at,
    exp_of,
    first_word,
    fraction,
    last_word,
    log1p_of,
    log_of,
    turned,
)

LARGEST = float.fromhex("0x1.fffffffffffffp+1023")
HALF_TURN, LN2 = 3.141592653589793, 0.6931471805599453


# Integers: q has the least one, and how many there are but one.


@kernel
def integers_prepare(p: Pointer[int64], step: int, q: Pointer[float64]) -> int:
    """Compute the range."""
    for e in independent(range(TILE), WIDE):
        q[e] = from_bits(p[e])
        q[TILE + e] = from_bits(p[step + e] - p[e] - 1)
    return OK


@kernel
def integers_attempt(
    x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], made: Pointer[int64], verdict: Pointer[int64]
) -> int:
    """Multiply (Lemire) where there are at most 2**31, mask bits otherwise."""
    wide = 0
    left = 0
    for e in independent(range(TILE), WIDE):
        m = uint64(bits(q[TILE + e]))
        width = (m & 0x7FFFFFFF) + 1
        b = (x[e] >> 32) * width + (((x[e] & LOW) * width) >> 32)
        made[e] = bits(q[e]) + int(b >> 32)
        open_ = int((b & LOW) == 0) << 1
        verdict[e] = open_
        left += open_
        wide += int(m >= 0x80000000)
    if wide == 0:
        return left
    left = 0
    for j in independent(range(TILE), WIDE):
        most = uint64(bits(q[TILE + j]))
        mask = most
        for k in unrolled(range(6)):
            mask = mask | (mask >> (1 << k))
        masked = x[j] & mask
        narrow = most < 0x80000000
        drawn = made[j]
        settled = verdict[j]
        settled = settled if narrow else int(masked > most)
        made[j] = drawn if narrow else bits(q[j]) + int(masked)
        verdict[j] = settled
        left += settled
    return left


@kernel
def integers_decide(
    lanes: Pointer[int64], x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], verdict: Pointer[int64]
) -> int:
    """Compare the low half of the product with 2**64 modulo the number of integers."""
    for e in range(WIDE):
        width = uint64(bits(q[TILE + lanes[e]])) + 1
        verdict[e] = int((((x[lanes[e]] & LOW) * width) & LOW) < (0 - width) % width)
    return OK


# Gamma: q has d = a - 1 / 3, the root of 9 d, and of logarithms that of d.


@kernel(inline=True)
def prepare_gamma(p: Pointer[int64], q: Pointer[float64], *, log: bool) -> int:
    """Compute what the shape decides."""
    for e in independent(range(TILE), WIDE):
        a = from_bits(p[e])
        d = (a + 1.0 if a < 1.0 else a) - 1.0 / 3.0
        q[e] = d
        q[TILE + e] = sqrt(9.0 * d)
        if log:
            q[2 * TILE + e] = log_of(d) if d <= LARGEST else d
    return OK


@kernel
def gamma_prepare(p: Pointer[int64], step: int, q: Pointer[float64]) -> int:
    """Compute what the shape decides."""
    return prepare_gamma(p, q, log=False)


@kernel
def log_gamma_prepare(p: Pointer[int64], step: int, q: Pointer[float64]) -> int:
    """Compute what the shape decides."""
    return prepare_gamma(p, q, log=True)


@kernel(inline=True)
def attempt_gamma(
    x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], made: Pointer[int64], verdict: Pointer[int64],
    *, log: bool,
) -> int:  # fmt: skip
    """Cube a normal number (Marsaglia and Tsang)."""
    left = 0
    for e in independent(range(TILE), WIDE):
        d = q[e]
        normal = sqrt(-2.0 * log_of(1.0 - fraction(x[e])))
        normal = normal * turned(TURN * (first_word(y[e]) * 2.0**-32), cosine=True)
        t = normal / q[TILE + e]
        cube = 3.0 * log1p_of(t)
        v = t * (3.0 + t * (3.0 + t))
        most = log_of((last_word(y[e]) + 0.5) * 2.0**-32)
        made[e] = bits(q[2 * TILE + e] + cube if log else d * (1.0 + v))
        rejected = int((t <= -1.0) | (most > 0.5 * normal * normal + d * (cube - v)))
        verdict[e] = rejected
        left += rejected
    return left


@kernel
def gamma_attempt(
    x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], made: Pointer[int64], verdict: Pointer[int64]
) -> int:
    """Draw."""
    return attempt_gamma(x, y, q, made, verdict, log=False)


@kernel
def log_gamma_attempt(
    x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], made: Pointer[int64], verdict: Pointer[int64]
) -> int:
    """Draw the logarithm."""
    return attempt_gamma(x, y, q, made, verdict, log=True)


@kernel(inline=True)
def finish_gamma(
    key: int, stream: int, at: int, count: int, p: Pointer[int64], made: Pointer[int64], *, log: bool
) -> int:
    """Make draws of shapes from 1 to 2 those of shapes below 1."""
    small = 0
    for i in independent(range(count), WIDE):
        small += int(from_bits(p[i]) < 1.0)
    if small == 0:
        return OK
    index = local(int64, BATCH + 1)
    places = local(int64, TILE)
    x = local(uint64, TILE)
    y = local(uint64, TILE)
    boosted = local(int64, TILE)
    found = 0
    for k in range(count):
        index[found] = k
        found += int(from_bits(p[k]) < 1.0)
    start = 0
    while start < found:
        n = min(TILE, found - start)
        for c in range(TILE):
            places[c] = index[start + (c if c < n else 0)]
        blocks_at(key, stream, at, places, 0, x, y)
        for e in independent(range(TILE), WIDE):
            a = from_bits(p[places[e]])
            drawn = from_bits(made[places[e]])
            far = -log_of(1.0 - fraction(x[e])) / a
            boost = LARGEST if far > LARGEST else far  # noqa: FURB136 - NaN stays
            if log:
                boosted[e] = bits(-1.0 / (a * a) if a == 0.0 else drawn - boost)
            else:
                boosted[e] = bits(0.0 * a if a == 0.0 else drawn * exp_of(-boost))
        for r in range(n):
            made[places[r]] = boosted[r]
        start += TILE
    return OK


@kernel
def gamma_finish(key: int, stream: int, at: int, count: int, p: Pointer[int64], made: Pointer[int64]) -> int:
    """Make draws of shapes from 1 to 2 those of shapes below 1."""
    return finish_gamma(key, stream, at, count, p, made, log=False)


@kernel
def log_gamma_finish(key: int, stream: int, at: int, count: int, p: Pointer[int64], made: Pointer[int64]) -> int:
    """Make draws of shapes from 1 to 2 those of shapes below 1."""
    return finish_gamma(key, stream, at, count, p, made, log=True)


# Von Mises' distribution: q has kappa, the root of b, e and e (2 - e); drawn is the tangent of half the angle.


@kernel
def vonmises_prepare(p: Pointer[int64], step: int, q: Pointer[float64]) -> int:
    """Compute what the concentration decides."""
    for i in independent(range(TILE), WIDE):
        kappa = from_bits(p[i])
        b = 1.0 / (sqrt(1.0 + 4.0 * kappa * kappa) + 2.0 * kappa)
        e = 2.0 * b / (1.0 + b)
        q[i] = kappa
        q[TILE + i] = sqrt(b)
        q[2 * TILE + i] = e
        q[3 * TILE + i] = e * (2.0 - e)
    return OK


@kernel
def vonmises_attempt(
    x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], made: Pointer[int64], verdict: Pointer[int64]
) -> int:
    """Draw a tangent (Best and Fisher)."""
    left = 0
    for i in independent(range(TILE), WIDE):
        e = q[2 * TILE + i]
        v = fraction(y[i])
        angle = HALF_TURN * (fraction(x[i]) - 0.5)
        t = q[TILE + i] * (turned(angle, cosine=False) / turned(angle, cosine=True))
        c = 2.0 - 2.0 / (1.0 + t * t)
        made[i] = bits(t)
        bound = q[i] * (e - c) + log_of((e + (1.0 - e) * c) / q[3 * TILE + i])
        rejected = int((v > 0.0) & (log_of(v) > bound))
        verdict[i] = rejected
        left += rejected
    return left


@kernel
def vonmises_finish(key: int, stream: int, at: int, count: int, p: Pointer[int64], made: Pointer[int64]) -> int:
    """Return angles; of whole tiles, so that no element is the odd one out of vectors."""
    for i in range((count + TILE - 1) // TILE * TILE):
        made[i] = bits(2.0 * atan(from_bits(made[i])))
    return OK


# Zipf's distribution: q has b = a - 1, 2**(-63 b) - 1 and 2**b - 1.


@kernel
def zipf_prepare(p: Pointer[int64], step: int, q: Pointer[float64]) -> int:
    """Compute what the exponent decides."""
    for e in range(TILE):
        b = from_bits(p[e]) - 1.0
        q[e] = b
        q[TILE + e] = expm1(-63.0 * LN2 * b)
        q[2 * TILE + e] = expm1(b * LN2)
    return OK


@kernel(inline=True)
def zipf_of(x: uint64, b: float, least: float) -> float:
    """Return an attempt."""
    return floor(exp_of(-log1p_of(fraction(x) * least) / b))


@kernel
def zipf_attempt(
    x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], made: Pointer[int64], verdict: Pointer[int64]
) -> int:
    """Draw by inversion of a continuous distribution (Devroye)."""
    left = 0
    for e in independent(range(TILE), WIDE):
        k = zipf_of(x[e], q[e], q[TILE + e])
        made[e] = int(k)
        open_ = 1 if k >= 2.0**63 else (2 if k > 1.0 else 0)
        verdict[e] = open_
        left += open_
    return left


@kernel
def zipf_decide(
    lanes: Pointer[int64], x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], verdict: Pointer[int64]
) -> int:
    """Compare with the probability of the integer."""
    z = local(float64, WIDE)
    share = local(float64, WIDE)
    for i in independent(range(WIDE), WIDE):
        z[i] = log1p_of(1.0 / zipf_of(x[lanes[i]], q[lanes[i]], q[TILE + lanes[i]]))
    for j in range(WIDE):
        share[j] = expm1(q[lanes[j]] * z[j])
    for e in independent(range(WIDE), WIDE):
        lane = lanes[e]
        b = q[lane]
        k = zipf_of(x[lane], b, q[TILE + lane])
        verdict[e] = int(fraction(y[lane]) * k * (share[e] / q[2 * TILE + lane]) > exp_of(b * (z[e] - LN2)))
    return OK
