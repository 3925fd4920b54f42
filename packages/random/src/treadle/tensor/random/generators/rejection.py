"""Draws from Philox that no closed form gives, in NumPy: the definition that every backend's own code agrees with.

Element e of a draw takes block ``position + e`` of the generator's, once for each attempt: attempt k = 1, 2, ... is the
counter's fourth number. It is accepted or rejected by itself, so that the first attempt can be made for all elements at
once, and the next ones for those that are left. After `ATTEMPTS` attempts the last one stands, which happens with a
probability below 1e-38. Wherever a test cannot be decided (NaN), the attempt is accepted.

Of the four 32-bit numbers w0 to w3 of a block, ``unit(w0, w1)`` is the number in [0, 1) that is a multiple of 2**-53,
made of the 64 bits w0 + 2**32 w1. All is computed in float64; draws of float32 are rounded at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.random.generators.philox import State, blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    # Draws, and which of them are rejected.
    Attempt = Callable[..., tuple[np.ndarray, np.ndarray]]

ATTEMPTS = 128
# Searches for a draw from 0 on end where a value's probability is as small as this.
NEGLIGIBLE = 2.0**-60
# Below this expected value, draws of discrete distributions are searched for, and above it made by rejection.
SEARCHED = 10.0
# J(z) = log Gamma(z) - ((z - 1/2) log z - z + log(2 pi) / 2) for z >= 1 is t P(t) / Q(t), t = 1 / z, up to 3e-13:
# polynomials fitted to it by least squares, of which the constant terms come first.
STIRLING_P = (
    0.083333333333626923,
    0.20956358390379048,
    0.30942812713265615,
    0.20627001145065293,
    0.064665274454646071,
    0.0011341159307551370,
)
STIRLING_Q = (
    1.0,
    2.5147630082335210,
    3.7464707694399467,
    2.5590678267768793,
    0.89131225194177403,
    0.075193744990632432,
)


def unit(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return a number in [0, 1), a multiple of 2**-53, for the two halves of 64 bits."""
    number: np.ndarray = ((low | high << np.uint64(32)) >> np.uint64(11)).astype("float64") * 2.0**-53
    return number


@np.errstate(all="ignore")
def attempts(state: State, offsets: np.ndarray, attempt: Attempt, *parameters: np.ndarray) -> np.ndarray:
    """Return the draws at some offsets by ``attempt(words, *parameters)``, as often as it takes."""
    todo = np.arange(offsets.size)
    draws = np.empty(0)
    for k in range(1, ATTEMPTS + 1):
        candidates, rejected = attempt(blocks(state, offsets[todo], k), *(p[todo] for p in parameters))
        if k == 1:
            draws = candidates
        else:
            draws[todo] = candidates
        todo = todo[rejected]
        if not todo.size:
            break
    return draws


def search(u: np.ndarray, p: np.ndarray, ratio: Callable[[int], np.ndarray]) -> np.ndarray:
    """Return the first k at which the probabilities of 0 to k sum to more than u, or where k's own is negligible.

    Parameters
    ----------
    u
        Numbers in [0, 1).
    p
        The probability of 0; that of k + 1 is ``ratio(k)`` times that of k.
    """
    k = np.zeros(u.shape, "int64")
    total = p
    step = 0
    while True:
        later = (u >= total) & (p > NEGLIGIBLE)
        if not later.any():
            return k
        k += later
        p = p * ratio(step)
        total = total + p
        step += 1


def stirling(z: np.ndarray) -> np.ndarray:
    """Return what Stirling's formula lacks to the logarithm of the gamma function of z >= 1 (see `STIRLING_P`)."""
    t = 1.0 / z
    above = below = np.zeros_like(t)
    for p, q in zip(reversed(STIRLING_P), reversed(STIRLING_Q), strict=True):
        above, below = above * t + p, below * t + q
    return t * above / below


def gamma_shift(z: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return log Gamma(z + d) - log Gamma(z) - d log z for z and z + d of 1 or more, precise for a small d / z."""
    difference: np.ndarray = (z + d - 0.5) * np.log1p(d / z) - d + (stirling(z + d) - stirling(z))
    return difference


def integers(state: State, n: int, dtype: str, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return integers from low to high - 1, all equally likely; all of 64 bits where low equals high modulo 2**64.

    The arithmetic is that of int64, modulo 2**64. With m = high - low - 1 and the block's numbers:

    - Where 0 <= m < 2**31 (Lemire, *Fast random integer generation in an interval*, ACM TOMACS 2019): the product of
      the 64 bits w0 + 2**32 w1 and m + 1 is h 2**64 + l; h is the draw, rejected where l < 2**64 modulo (m + 1). By two
      products of less than 2**63: a = w0 (m + 1), b = w1 (m + 1) + (a >> 32), h = b >> 32. As the modulus is below
      2**31, l is less only where the low half of b is 0.
    - Else the 64 bits, masked by as many ones as m has binary digits (64 where it is negative): rejected where that is
      more than m, without sign.
    """
    del dtype

    def attempt(words: list[np.ndarray], low: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        w0, w1 = words[:2]
        half, ones = np.uint64(32), np.uint64(2**32 - 1)
        narrow = m < np.uint64(2**31)
        width = np.where(narrow, m, np.uint64(0)) + np.uint64(1)
        a = w0 * width
        b = w1 * width + (a >> half)
        excess = (np.uint64(2**64 - 1) % width + np.uint64(1)) % width
        mask = m
        for shift in (1, 2, 4, 8, 16, 32):
            mask = mask | mask >> np.uint64(shift)
        masked = (w0 | w1 << half) & mask
        rejected = np.where(narrow, (b & ones == 0) & (a & ones < excess), masked > m)
        return low + np.where(narrow, b >> half, masked), rejected

    first = np.asarray(low, "int64").view("uint64")
    with np.errstate(over="ignore"):
        m = np.asarray(high, "int64").view("uint64") - first - np.uint64(1)
    return attempts(state, np.arange(n), attempt, first, m).view("int64")


def _gamma(state: State, n: int, dtype: str, alpha: np.ndarray, log: bool) -> np.ndarray:
    def attempt(words: list[np.ndarray], d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        w0, w1, w2, w3 = words
        x = np.sqrt(-2.0 * np.log(1.0 - unit(w0, w1))) * np.cos(2 * np.pi * (w2.astype("float64") * 2.0**-32))
        t = x / np.sqrt(9.0 * d)
        cube = 3.0 * np.log1p(t)
        v = t * (3.0 + t * (3.0 + t))
        accepted = np.log((w3.astype("float64") + 0.5) * 2.0**-32)
        rejected = (t <= -1.0) | (accepted > 0.5 * x * x + d * (cube - v))
        return (np.log(d) + cube if log else d * (1.0 + v)), rejected

    alpha = np.asarray(alpha, "float64")
    at = np.arange(n)
    small = alpha < 1.0
    draws = attempts(state, at, attempt, np.where(small, alpha + 1.0, alpha) - 1.0 / 3.0)
    w0, w1, _, _ = blocks(state, at[small])
    with np.errstate(all="ignore"):
        boost = -np.log(1.0 - unit(w0, w1)) / alpha[small]
        draws[small] = draws[small] - boost if log else draws[small] * np.exp(-boost)
        draws = np.maximum(draws, np.finfo("float64").min)
        draws[alpha == 0.0] = -np.inf if log else 0.0
        result: np.ndarray = draws.astype(dtype, copy=False)
    return result


def standard_gamma(state: State, n: int, dtype: str, alpha: np.ndarray) -> np.ndarray:
    """Return draws of the gamma distribution of shape alpha >= 0 and scale 1 (0 at alpha = 0).

    By Marsaglia and Tsang, *A simple method for generating gamma variables*, ACM TOMS 2000. With a = alpha where that
    is 1 or more, else alpha + 1: d = a - 1/3, t = x / sqrt(9 d), and the draw is d (1 + t)**3, where

    - x = sqrt(-2 log(1 - unit(w0, w1))) cos(2 pi w2 / 2**32) is normal, and u = (w3 + 1/2) / 2**32;
    - rejected where t <= -1 or log u > x**2 / 2 + d (3 log1p(t) - v), v = (1 + t)**3 - 1 = t (3 + t (3 + t)). (A test
      of no logarithm, u < 1 - 0.0331 x**4, accepts most of what this one does, and nothing else.)

    Where alpha < 1, the accepted draw is multiplied by exp(log(1 - unit(w0, w1)) / alpha) of the words of attempt 0.
    """
    return _gamma(state, n, dtype, alpha, log=False)


def log_standard_gamma(state: State, n: int, dtype: str, alpha: np.ndarray) -> np.ndarray:
    """Return the logarithms of the same draws as those of `standard_gamma`, finite where these underflow.

    They are log d + 3 log1p(t), and where alpha < 1, log(1 - unit(w0, w1)) / alpha more, and at least the lowest finite
    number; -inf at alpha = 0.
    """
    return _gamma(state, n, dtype, alpha, log=True)


def poisson(state: State, n: int, dtype: str, lam: np.ndarray) -> np.ndarray:
    """Return draws of the Poisson distribution of mean lam >= 0.

    With u = unit(w0, w1) and v = unit(w2, w3):

    - lam < 10: by `search` for u from exp(-lam) with the ratios lam / (k + 1). There is one attempt.
    - Else by PTRS (Hoermann, *The transformed rejection method for generating Poisson random variables*, 1993): with
      b = 0.931 + 2.53 sqrt(lam), a = -0.059 + 0.02483 b, s = 1/2 - abs(u - 1/2), the draw is
      k = floor((2 a / s + b) (u - 1/2) + lam + 0.43). It is rejected where k < 0, accepted where s >= 0.07 and
      v <= 0.9277 - 3.6224 / (b - 2), else rejected where log(v (1.1239 + 1.1328 / (b - 3.4)) / (a / s**2 + b)) is more
      than the logarithm of k's probability: with y = (k + 1 - lam) / lam,
      -lam ((1 + y) log1p(y) - y) + log1p(y) - log(2 pi (k + 1)) / 2 - J(k + 1), which holds for every size of lam.
    """
    del dtype

    def attempt(words: list[np.ndarray], lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        w0, w1, w2, w3 = words
        u, v = unit(w0, w1) - 0.5, unit(w2, w3)
        b = 0.931 + 2.53 * np.sqrt(lam)
        a = -0.059 + 0.02483 * b
        s = 0.5 - np.abs(u)
        k = np.floor((2.0 * a / s + b) * u + lam + 0.43)
        quick = (s >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2.0))
        y = (k + 1.0 - lam) / lam
        log = np.log1p(y)
        density = -lam * ((1.0 + y) * log - y) + log - 0.5 * np.log(2 * np.pi * (k + 1.0)) - stirling(k + 1.0)
        slow = np.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (s * s) + b)) > density
        return k, (k < 0.0) | (~quick & slow)

    lam = np.asarray(lam, "float64")
    at = np.arange(n)
    draws = np.empty(n, "int64")
    few = lam < SEARCHED
    mean = lam[few]
    w0, w1, _, _ = blocks(state, at[few], 1)
    draws[few] = search(unit(w0, w1), np.exp(-mean), lambda k: mean / (k + 1))
    draws[~few] = attempts(state, at[~few], attempt, lam[~few]).astype("int64")
    return draws


def binomial(state: State, n: int, dtype: str, trials: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return draws of the binomial distribution: how many of `trials` >= 0 succeed, each with probability p.

    Where p > 1/2, the failures are drawn and subtracted from the trials. With q = min(p, 1 - p), u = unit(w0, w1) and
    v = unit(w2, w3):

    - trials q < 10: by `search` for u from exp(trials log1p(-q)) with the ratios (trials - k) / (k + 1) (q / (1 - q)),
      and at most the trials. There is one attempt.
    - Else by BTRS (Hoermann, *The generation of binomial random variates*, 1993): with r = sqrt(trials q (1 - q)),
      b = 1.15 + 2.53 r, a = -0.0873 + 0.0248 b + 0.01 q, s = 1/2 - abs(u - 1/2), the draw is
      k = floor((2 a / s + b) (u - 1/2) + trials q + 0.5). It is rejected outside of 0 to the trials, accepted where
      s >= 0.07 and v <= 0.92 - 4.2 / b, else rejected where log(v (2.83 + 5.1 / b) r / (a / s**2 + b)) is more than the
      logarithm of the ratio of k's probability to that of m = floor((trials + 1) q): with d = k - m,
      d log(q / (1 - q) (trials - m + 1) / (m + 1)) - gamma_shift(m + 1, d) - gamma_shift(trials - m + 1, -d).
    """
    del dtype

    def attempt(words: list[np.ndarray], n: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        w0, w1, w2, w3 = words
        u, v = unit(w0, w1) - 0.5, unit(w2, w3)
        r = np.sqrt(n * q * (1.0 - q))
        b = 1.15 + 2.53 * r
        a = -0.0873 + 0.0248 * b + 0.01 * q
        s = 0.5 - np.abs(u)
        k = np.floor((2.0 * a / s + b) * u + n * q + 0.5)
        quick = (s >= 0.07) & (v <= 0.92 - 4.2 / b)
        m = np.floor((n + 1.0) * q)
        d = k - m
        ratio = d * np.log(q / (1.0 - q) * ((n - m + 1.0) / (m + 1.0)))
        ratio = ratio - gamma_shift(m + 1.0, d) - gamma_shift(n - m + 1.0, -d)
        slow = np.log(v * ((2.83 + 5.1 / b) * r) / (a / (s * s) + b)) > ratio
        return k, (k < 0.0) | (k > n) | (~quick & slow)

    trials = np.asarray(trials, "int64")
    flipped = p > 0.5
    q = np.where(flipped, 1.0 - p, p)
    count = trials.astype("float64")
    at = np.arange(n)
    draws = np.empty(n, "int64")
    few = ~(count * q >= SEARCHED)
    c, odds = count[few], q[few] / (1.0 - q[few])
    w0, w1, _, _ = blocks(state, at[few], 1)
    successes = search(unit(w0, w1), np.exp(c * np.log1p(-q[few])), lambda k: (c - k) / (k + 1) * odds)
    draws[few] = np.minimum(successes, trials[few])
    draws[~few] = attempts(state, at[~few], attempt, count[~few], q[~few]).astype("int64")
    return np.where(flipped, trials - draws, draws)


def hypergeometric(
    state: State, n: int, dtype: str, good: np.ndarray, bad: np.ndarray, sample: np.ndarray
) -> np.ndarray:
    """Return how many are good of `sample` things, drawn without replacement from `good` good and `bad` bad ones.

    All are int64 of 0 or more, and the sample at most as large as good + bad = N. The draw k is that of a sample of
    c = min(sample, N - sample) among g = min(good, bad) good ones: where sample is larger than c, good - k of those
    that are left over are good; where bad is less than good, sample - k are. With h = N - g, w = h - c,
    u = unit(w0, w1) and v = unit(w2, w3):

    - g c / N < 10: by `search` for u, with the ratios (g - k) (c - k) / ((k + 1) (w + k + 1)), and at most min(g, c).
      There is one attempt. The probability of 0 is that with which none of x = min(g, c) is among y = max(g, c): the
      exponential of x log1p(-y / (N + 1)) + gamma_shift(N + 1, -x) - gamma_shift(N + 1 - y, -x).
    - Else by HRUA* (Stadlober, *The ratio of uniforms approach for generating discrete random variates*, 1990): with
      r = c g / N, s = 1.7155277699214135 sqrt((N - c) c g h / (N**2 (N - 1)) + 1/2) + 0.8989161620588988,
      the draw is k = floor(r + 1/2 + s (v - 1/2) / (1 - u)). It is rejected outside of 0 to min(g, c), and where
      2 log(1 - u) is more than the logarithm of the ratio of k's probability to that of
      m = floor((c + 1) (g + 1) / (N + 2)): with d = k - m,
      d log((g - m + 1) (c - m + 1) / ((m + 1) (w + m + 1))) - gamma_shift(m + 1, d) - gamma_shift(g - m + 1, -d)
      - gamma_shift(c - m + 1, -d) - gamma_shift(w + m + 1, d).
    """
    del dtype

    def attempt(words: list[np.ndarray], g: np.ndarray, c: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        w0, w1, w2, w3 = words
        u, v = 1.0 - unit(w0, w1), unit(w2, w3)
        total = g + h
        w = h - c
        spread = np.sqrt((total - c) * c / total * (g / total) * (h / (total - 1.0)) + 0.5)
        s = 1.7155277699214135 * spread + 0.8989161620588988
        k = np.floor(c * (g / total) + 0.5 + s * (v - 0.5) / u)
        m = np.floor((c + 1.0) * ((g + 1.0) / (total + 2.0)))
        d = k - m
        ratio = d * np.log((g - m + 1.0) / (m + 1.0) * ((c - m + 1.0) / (w + m + 1.0)))
        ratio = ratio - gamma_shift(m + 1.0, d) - gamma_shift(g - m + 1.0, -d)
        ratio = ratio - gamma_shift(c - m + 1.0, -d) - gamma_shift(w + m + 1.0, d)
        return k, (k < 0.0) | (k > np.minimum(g, c)) | (2.0 * np.log(u) > ratio)

    good, bad, sample = (np.asarray(x, "int64") for x in (good, bad, sample))
    total = good + bad
    count = np.minimum(sample, total - sample)
    g, h, c = (x.astype("float64") for x in (np.minimum(good, bad), np.maximum(good, bad), count))
    at = np.arange(n)
    draws = np.empty(n, "int64")
    few = ~(c * (g / np.maximum(g + h, 1.0)) >= SEARCHED)
    x, y, w = np.minimum(g, c)[few], np.maximum(g, c)[few], (h - c)[few]
    z = (g + h)[few] + 1.0
    none = np.exp(x * np.log1p(-y / z) + gamma_shift(z, -x) - gamma_shift(z - y, -x))
    w0, w1, _, _ = blocks(state, at[few], 1)
    drawn_good = search(unit(w0, w1), none, lambda k: (x - k) / (k + 1) * ((y - k) / (w + k + 1)))
    draws[few] = np.minimum(drawn_good, x.astype("int64"))
    draws[~few] = attempts(state, at[~few], attempt, g[~few], c[~few], h[~few]).astype("int64")
    draws = np.where(good > bad, count - draws, draws)
    return np.where(sample > count, good - draws, draws)


def vonmises(state: State, n: int, dtype: str, kappa: np.ndarray) -> np.ndarray:
    """Return angles from -pi to pi of von Mises' distribution around 0, of concentration kappa >= 0.

    By Best and Fisher, *Efficient simulation of the von Mises distribution*, Applied Statistics 1979, in terms that
    hold for every kappa. With r = sqrt(1 + 4 kappa**2), b = 1 / (r + 2 kappa), e = 2 b / (1 + b),
    t = sqrt(b) tan(pi (unit(w0, w1) - 1/2)), the draw is 2 atan(t). It is rejected where log(unit(w2, w3)) is more than
    kappa (e - c) + log((e + (1 - e) c) / (e (2 - e))), c = 2 t**2 / (1 + t**2).
    """

    def attempt(words: list[np.ndarray], kappa: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        w0, w1, w2, w3 = words
        b = 1.0 / (np.sqrt(1.0 + 4.0 * kappa * kappa) + 2.0 * kappa)
        e = 2.0 * b / (1.0 + b)
        t = np.sqrt(b) * np.tan(np.pi * (unit(w0, w1) - 0.5))
        c = 2.0 - 2.0 / (1.0 + t * t)
        bound = kappa * (e - c) + np.log((e + (1.0 - e) * c) / (e * (2.0 - e)))
        return 2.0 * np.arctan(t), np.log(unit(w2, w3)) > bound

    return attempts(state, np.arange(n), attempt, np.asarray(kappa, "float64")).astype(dtype, copy=False)


def zipf(state: State, n: int, dtype: str, a: np.ndarray) -> np.ndarray:
    """Return draws of Zipf's distribution: k >= 1 with a probability proportional to k**-a, for a > 1.

    By Devroye, *Non-uniform random variate generation*, 1986, X.6. With u = unit(w0, w1), v = unit(w2, w3) and
    b = a - 1, the draw is k = floor((1 - u (1 - 2**(-63 b)))**(-1 / b)), the power by exp and log; the draw is rejected
    where it is not an int64, and where, with x = log1p(1 / k), v k expm1(b x) / expm1(b log 2) is more than
    exp(b (x - log 2)).
    """
    del dtype

    def attempt(words: list[np.ndarray], b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        w0, w1, w2, w3 = words
        u, v = unit(w0, w1), unit(w2, w3)
        k = np.floor(np.exp(-np.log1p(u * np.expm1(-63.0 * np.log(2.0) * b)) / b))
        x = np.log1p(1.0 / k)
        slow = v * k * (np.expm1(b * x) / np.expm1(b * np.log(2.0))) > np.exp(b * (x - np.log(2.0)))
        return k, (k >= 2.0**63) | (k > 1.0) & slow

    return attempts(state, np.arange(n), attempt, np.asarray(a, "float64") - 1.0).astype("int64")
