"""Samplers of counts that may reject: Poisson's, binomial and hypergeometric distributions.

Where few are expected, they search from 0 on; else a floating-point number is drawn, rounded down and tested.
"""

from __future__ import annotations

from treadle.kernels import Kernel, kernel
from treadle.kernels.language import (
    OK,
    Pointer,
    float64,
    floor,
    from_bits,
    independent,
    int64,
    local,
    sqrt,
    uint64,
)
from treadle.tensor.random.generators.rejection import NEGLIGIBLE, SEARCHED
from treadle.tensor.random.lower.kernels.philox import (
    BATCH,
    TILE,
    TURN,
    WIDE,
    exp_of,
    fraction,
    gamma_shift,
    log1p_of,
    log_of,
    stirling,
)


@kernel
def search(
    x: Pointer[uint64], q: Pointer[float64], made: Pointer[int64], *, none: int, ratio: Kernel, unknown: bool
) -> int:
    """Search in the lanes whose expected count q[e] is small, or `unknown` if it is NaN; return how many these are.

    A draw is the first k at which the probabilities of 0 to k sum to more than a uniform number, or at which that of k
    is negligible. The probability of 0 is among q, and that of k + 1 is `ratio` times that of k.
    """
    few = 0
    for e in independent(range(TILE), WIDE):
        few += int((q[e] < SEARCHED) | (unknown and q[e] != q[e]))
    if few == 0:
        return 0
    p = local(float64, TILE)
    total = local(float64, TILE)
    for i in independent(range(TILE), WIDE):
        p[i] = q[none * TILE + i]
        # No uniform number is as large.
        total[i] = 2.0 if q[i] >= SEARCHED else p[i]
        made[i] = 0
    k = 0.0
    going = few
    while going > 0:
        going = 0
        for j in independent(range(TILE), WIDE):
            later = int((fraction(x[j]) >= total[j]) & (p[j] > NEGLIGIBLE))
            going += later
            made[j] = made[j] + later
            p[j] = p[j] * ratio(q + j, k)
            total[j] = total[j] + p[j]
        k += 1.0
    return few


@kernel(inline=True)
def transformed(u: float, s: float, a: float, b: float, middle: float, shift: float) -> float:
    """Return an attempt of Hoermann's transformed rejection."""
    return floor((2.0 * a / s + b) * u + middle + shift)


@kernel(inline=True)
def searched_or_transformed(
    x: Pointer[uint64],
    y: Pointer[uint64],
    q: Pointer[float64],
    made: Pointer[int64],
    verdict: Pointer[int64],
    shift: float,
    *,
    none: int,
    ratio: Kernel,
    b: int,
    bounded: bool,
) -> int:
    """Search, or draw by transformed rejection.

    From number `b` on, q has b, a and the bound of quick acceptance; number 1 is the largest draw, if it is `bounded`.
    """
    few = search(x, q, made, none=none, ratio=ratio, unknown=bounded)
    if few == TILE:
        for e in independent(range(TILE), WIDE):
            verdict[e] = 0
        return 0
    left = 0
    for j in independent(range(TILE), WIDE):
        u = fraction(x[j]) - 0.5
        v = fraction(y[j])
        s = 0.5 - abs(u)
        k = transformed(u, s, q[(b + 1) * TILE + j], q[b * TILE + j], q[j], shift)
        quick = ((s >= 0.07) & (v <= q[(b + 2) * TILE + j])) | (not v > 0.0)
        outside = (k < 0.0) | (k > q[TILE + j]) if bounded else k < 0.0
        searched = not q[j] >= SEARCHED if bounded else q[j] < SEARCHED
        open_ = 0 if searched else (1 if outside else (0 if quick else 2))
        drawn = made[j]
        made[j] = drawn if searched else int(k)
        verdict[j] = open_
        left += open_
    return left


# Poisson's distribution: q has lam, b, a, the bound of quick acceptance, 1.1239 + 1.1328 / (b - 3.4) and exp(-lam).


@kernel
def poisson_prepare(p: Pointer[int64], step: int, q: Pointer[float64]) -> int:
    """Compute what the mean decides."""
    for e in independent(range(TILE), WIDE):
        lam = from_bits(p[e])
        b = 0.931 + 2.53 * sqrt(lam)
        q[e] = lam
        q[TILE + e] = b
        q[2 * TILE + e] = -0.059 + 0.02483 * b
        q[3 * TILE + e] = 0.9277 - 3.6224 / (b - 2.0)
        q[4 * TILE + e] = 1.1239 + 1.1328 / (b - 3.4)
        q[5 * TILE + e] = exp_of(-lam)
    return OK


@kernel(inline=True)
def poisson_ratio(q: Pointer[float64], k: float) -> float:
    """Return the probability of k + 1 over that of k."""
    return q[0] / (k + 1.0)


@kernel
def poisson_attempt(
    x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], made: Pointer[int64], verdict: Pointer[int64]
) -> int:
    """Search, or draw by transformed rejection."""
    return searched_or_transformed(x, y, q, made, verdict, 0.43, none=5, ratio=poisson_ratio, b=1, bounded=False)


@kernel
def poisson_decide(
    lanes: Pointer[int64], x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], verdict: Pointer[int64]
) -> int:
    """Compare with the logarithm of the probability."""
    for e in independent(range(WIDE), WIDE):
        lane = lanes[e]
        lam = q[lane]
        b = q[TILE + lane]
        a = q[2 * TILE + lane]
        u = fraction(x[lane]) - 0.5
        s = 0.5 - abs(u)
        k = transformed(u, s, a, b, lam, 0.43)
        z = (k + 1.0 - lam) / lam
        log = log1p_of(z)
        density = -lam * ((1.0 + z) * log - z) + log - 0.5 * log_of(TURN * (k + 1.0)) - stirling(k + 1.0)
        verdict[e] = int(log_of(fraction(y[lane]) * q[4 * TILE + lane] / (a / (s * s) + b)) > density)
    return OK


# Binomial distribution: q has n r, n, b, a, the bound of quick acceptance, (2.83 + 5.1 / b) times the deviation, the
# mode, the logarithm of its odds, the odds of a success and the probability of none.


@kernel
def binomial_prepare(p: Pointer[int64], step: int, q: Pointer[float64]) -> int:
    """Compute what the number of trials and the probability decide."""
    for e in independent(range(TILE), WIDE):
        n = float(p[e])
        given = from_bits(p[step + e])
        r = 1.0 - given if given > 0.5 else given
        root = sqrt(n * r * (1.0 - r))
        m = floor((n + 1.0) * r)
        b = 1.15 + 2.53 * root
        q[e] = n * r
        q[TILE + e] = n
        q[2 * TILE + e] = b
        q[3 * TILE + e] = -0.0873 + 0.0248 * b + 0.01 * r
        q[4 * TILE + e] = 0.92 - 4.2 / b
        q[5 * TILE + e] = (2.83 + 5.1 / b) * root
        q[6 * TILE + e] = m
        q[7 * TILE + e] = log_of(r / (1.0 - r) * ((n - m + 1.0) / (m + 1.0)))
        q[8 * TILE + e] = r / (1.0 - r)
        q[9 * TILE + e] = exp_of(n * log1p_of(-r))
    return OK


@kernel(inline=True)
def binomial_ratio(q: Pointer[float64], k: float) -> float:
    """Return the probability of k + 1 over that of k."""
    return (q[TILE] - k) / (k + 1.0) * q[8 * TILE]


@kernel
def binomial_attempt(
    x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], made: Pointer[int64], verdict: Pointer[int64]
) -> int:
    """Search, or draw by transformed rejection."""
    return searched_or_transformed(x, y, q, made, verdict, 0.5, none=9, ratio=binomial_ratio, b=2, bounded=True)


@kernel
def binomial_decide(
    lanes: Pointer[int64], x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], verdict: Pointer[int64]
) -> int:
    """Compare with the logarithm of the probability over that of the mode."""
    for e in independent(range(WIDE), WIDE):
        lane = lanes[e]
        n = q[TILE + lane]
        b = q[2 * TILE + lane]
        a = q[3 * TILE + lane]
        m = q[6 * TILE + lane]
        u = fraction(x[lane]) - 0.5
        s = 0.5 - abs(u)
        d = transformed(u, s, a, b, q[lane], 0.5) - m
        ratio = d * q[7 * TILE + lane] - gamma_shift(m + 1.0, d) - gamma_shift(n - m + 1.0, -d)
        verdict[e] = int(log_of(fraction(y[lane]) * q[5 * TILE + lane] / (a / (s * s) + b)) > ratio)
    return OK


@kernel
def binomial_finish(key: int, stream: int, at: int, count: int, p: Pointer[int64], made: Pointer[int64]) -> int:
    """Turn failures into successes, where those were drawn."""
    for e in independent(range(count), WIDE):
        n = p[e]
        drawn = min(made[e], n)
        made[e] = n - drawn if from_bits(p[BATCH + e]) > 0.5 else drawn
    return OK


# Hypergeometric distribution, of x = min(g, c) and y = max(g, c) for the smaller part g and the smaller sample c: q has
# c g / N, x, y, h - c, the probability of 0, the width, the middle, the mode and the logarithm of its odds.


@kernel
def hypergeometric_prepare(p: Pointer[int64], step: int, q: Pointer[float64]) -> int:
    """Compute what the parts and the sample decide."""
    for e in independent(range(TILE), WIDE):
        good = p[e]
        bad = p[step + e]
        sample = p[2 * step + e]
        g = float(min(good, bad))
        h = float(max(good, bad))
        c = float(min(sample, good + bad - sample))
        total = g + h
        w = h - c
        x = g if g < c else c  # noqa: FURB136 - the language has min and max of integers alone
        y = c if g < c else g  # noqa: FURB136
        z = total + 1.0
        spread = sqrt((total - c) * c / total * (g / total) * (h / (total - 1.0)) + 0.5)
        m = floor((c + 1.0) * ((g + 1.0) / (total + 2.0)))
        q[e] = c * (g / (1.0 if total < 1.0 else total))  # noqa: FURB136
        q[TILE + e] = x
        q[2 * TILE + e] = y
        q[3 * TILE + e] = w
        q[4 * TILE + e] = exp_of(x * log1p_of(-y / z) + gamma_shift(z, -x) - gamma_shift(z - y, -x))
        q[5 * TILE + e] = 1.7155277699214135 * spread + 0.8989161620588988
        q[6 * TILE + e] = c * (g / total) + 0.5
        q[7 * TILE + e] = m
        q[8 * TILE + e] = log_of((g - m + 1.0) / (m + 1.0) * ((c - m + 1.0) / (w + m + 1.0)))
    return OK


@kernel(inline=True)
def hypergeometric_ratio(q: Pointer[float64], k: float) -> float:
    """Return the probability of k + 1 over that of k."""
    return (q[TILE] - k) / (k + 1.0) * ((q[2 * TILE] - k) / (q[3 * TILE] + k + 1.0))


@kernel
def hypergeometric_attempt(
    x: Pointer[uint64], y: Pointer[uint64], q: Pointer[float64], made: Pointer[int64], verdict: Pointer[int64]
) -> int:
    """Search, or draw by a ratio of uniform numbers (Stadlober) and compare with the mode's probability."""
    few = search(x, q, made, none=4, ratio=hypergeometric_ratio, unknown=True)
    if few == TILE:
        for e in independent(range(TILE), WIDE):
            verdict[e] = 0
        return 0
    left = 0
    for j in independent(range(TILE), WIDE):
        u = 1.0 - fraction(x[j])
        k = floor(q[6 * TILE + j] + q[5 * TILE + j] * (fraction(y[j]) - 0.5) / u)
        m = q[7 * TILE + j]
        d = k - m
        ratio = d * q[8 * TILE + j] - gamma_shift(m + 1.0, d) - gamma_shift(q[TILE + j] - m + 1.0, -d)
        ratio = ratio - gamma_shift(q[2 * TILE + j] - m + 1.0, -d) - gamma_shift(q[3 * TILE + j] + m + 1.0, d)
        rejected = (k < 0.0) | (k > q[TILE + j]) | (2.0 * log_of(u) > ratio)
        searched = not q[j] >= SEARCHED
        open_ = int(rejected & (not searched))
        drawn = made[j]
        made[j] = drawn if searched else int(k)
        verdict[j] = open_
        left += open_
    return left


@kernel
def hypergeometric_finish(key: int, stream: int, at: int, count: int, p: Pointer[int64], made: Pointer[int64]) -> int:
    """Return the draw from all good ones, by that of a smaller sample, or from the smaller part."""
    for e in independent(range(count), WIDE):
        good = p[e]
        bad = p[BATCH + e]
        sample = p[2 * BATCH + e]
        taken = min(sample, good + bad - sample)
        drawn = min(made[e], good, bad, taken)
        own = taken - drawn if good > bad else drawn
        made[e] = good - own if sample > taken else own
    return OK
