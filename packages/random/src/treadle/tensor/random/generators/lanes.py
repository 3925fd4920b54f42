"""Draws by rejection for libraries of whole arrays, such as JAX and PyTorch: each element is a lane.

They are those of `treadle.tensor.random.generators.rejection`, which says what each computes. There, elements that were
rejected are picked out; here all lanes go on until the last one is done, and those that are keep what they have.
Samplers of other packages are defined in these terms alone (`treadle.tensor.random.PORTABLE_SAMPLERS`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from treadle.tensor.random.generators.rejection import ATTEMPTS, NEGLIGIBLE, SEARCHED, STIRLING_P, STIRLING_Q

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # An array of the library, or a number.
    Array = Any
    # Makes of the four numbers of each block draws, and says which are rejected.
    Attempt = Callable[[Sequence[Array]], tuple[Array, Array]]

__all__ = ["LANE_SAMPLERS", "DrawLanes"]

_LARGEST = 1.7976931348623157e308


class DrawLanes(ABC):
    """A batch of draws on some library of arrays: lane e takes the block e after the state's position.

    The words of a block are of a dtype of the library's own: `unit` and `as_float` make floats of them.

    Attributes
    ----------
    xp
        The library's functions of NumPy's names, with float64 for Python's floats.
    """

    xp: Any

    @abstractmethod
    def flat(self, x: Array) -> Array:
        """Return a value for each lane of what is made of parameters, whose dimensions broadcast to the batch's."""

    @abstractmethod
    def blocks(self, attempt: Array) -> Sequence[Array]:
        """Return the four numbers of 32 bits of each lane's block."""

    @abstractmethod
    def unit(self, low: Array, high: Array) -> Array:
        """Return a number in [0, 1), a multiple of 2**-53, for the two halves of 64 bits."""

    @abstractmethod
    def as_float(self, word: Array) -> Array:
        """Return numbers of 32 bits, or int64, as float64."""

    @abstractmethod
    def as_integer(self, x: Array) -> Array:
        """Return float64 as int64."""

    @abstractmethod
    def loop(
        self, proceeds: Callable[..., Array], body: Callable[..., tuple[Array, ...]], *start: Array
    ) -> Sequence[Array]:
        """Return the values after ``body(*values)`` as often as ``proceeds(*values)``, one truth value, says."""

    @abstractmethod
    def integers(self, low: Array, high: Array) -> Array:
        """Return integers of int64 from low to high - 1."""

    @abstractmethod
    def number(self, value: float) -> Array:
        """Return a float64 as an array without dimensions."""

    def attempts(
        self, attempt: Attempt, todo: Array = None, draws: Array = None, first: int = 1, last: int = ATTEMPTS
    ) -> Array:
        """Return draws for the lanes `todo`, each by its first attempt that is not rejected, or its last one.

        Parameters
        ----------
        attempt
            Makes of the four numbers of each lane's block draws, and says which are rejected.
        todo
            Which lanes draw; all if None.
        draws
            The draws of the others, in the dtype of all; zeros of float64 if None.
        first, last
            The attempts.
        """
        xp = self.xp
        if draws is None:
            draws = self.flat(self.number(0.0))
        if todo is None:
            todo = xp.ones_like(draws) > 0.0

        def proceeds(k: Array, _draws: Array, todo: Array) -> Array:
            return todo.any() & (k <= last)

        def body(k: Array, draws: Array, todo: Array) -> tuple[Array, ...]:
            candidates, rejected = attempt(self.blocks(k))
            return k + 1.0, xp.where(todo, candidates, draws), todo & rejected

        return self.loop(proceeds, body, self.number(first), draws, todo)[1]

    def search(self, u: Array, p: Array, ratio: Callable[[Array], Array], todo: Array) -> Array:
        """Return the first k at which the probabilities of 0 to k sum to more than u; 0 for lanes not `todo`."""

        def later(p: Array, total: Array) -> Array:
            return todo & (u >= total) & (p > NEGLIGIBLE)

        def proceeds(_step: Array, _k: Array, p: Array, total: Array) -> Array:
            return later(p, total).any()

        def body(step: Array, k: Array, p: Array, total: Array) -> tuple[Array, ...]:
            k = self.xp.where(later(p, total), step + 1.0, k)
            p = p * ratio(step)
            return step + 1.0, k, p, total + p

        return self.loop(proceeds, body, self.number(0.0), self.xp.zeros_like(u), p, p + 0.0)[1]


def _stirling(z: Array) -> Array:
    t = 1.0 / z
    above, below = STIRLING_P[-1], STIRLING_Q[-1]
    for p, q in zip(STIRLING_P[-2::-1], STIRLING_Q[-2::-1], strict=True):
        above, below = above * t + p, below * t + q
    return t * above / below


def _gamma_shift(xp: Any, z: Array, d: Array) -> Array:
    return (z + d - 0.5) * xp.log1p(d / z) - d + (_stirling(z + d) - _stirling(z))


def standard_gamma(lanes: DrawLanes, alpha: Array, *, log: bool = False) -> Array:
    """Return draws of the gamma distribution, or their logarithms."""
    xp = lanes.xp
    small = alpha < 1.0
    d = xp.where(small, alpha + 1.0, alpha) - 1.0 / 3.0
    root, d, log_d = lanes.flat(xp.sqrt(9.0 * d)), lanes.flat(d), lanes.flat(xp.log(d))
    alpha, small = lanes.flat(alpha), lanes.flat(small)

    def attempt(words: Sequence[Array]) -> tuple[Array, Array]:
        w0, w1, w2, w3 = words
        angle = 2 * math.pi * (lanes.as_float(w2) * 2.0**-32)
        x = xp.sqrt(-2.0 * xp.log(1.0 - lanes.unit(w0, w1))) * xp.cos(angle)
        t = x / root
        cube = 3.0 * xp.log1p(t)
        v = t * (3.0 + t * (3.0 + t))
        accepted = xp.log((lanes.as_float(w3) + 0.5) * 2.0**-32)
        rejected = (t <= -1.0) | (accepted > 0.5 * x * x + d * (cube - v))
        return (log_d + cube if log else d * (1.0 + v)), rejected

    def boost(words: Sequence[Array]) -> tuple[Array, Array]:
        w0, w1, _, _ = words
        return xp.clip(-xp.log(1.0 - lanes.unit(w0, w1)) / alpha, max=_LARGEST), small

    draws = lanes.attempts(attempt, xp.ones_like(d) > 0.0, xp.zeros_like(d))
    less = lanes.attempts(boost, small, xp.zeros_like(d), 0, 0)
    draws = draws - less if log else xp.where(small, draws * xp.exp(-less), draws)
    return xp.where(alpha == 0.0, -math.inf if log else 0.0, draws)


def log_standard_gamma(lanes: DrawLanes, alpha: Array) -> Array:
    """Return the logarithms of draws of the gamma distribution."""
    return standard_gamma(lanes, alpha, log=True)


def poisson(lanes: DrawLanes, lam: Array) -> Array:
    """Return draws of the Poisson distribution."""
    xp = lanes.xp
    b = 0.931 + 2.53 * xp.sqrt(lam)
    a = -0.059 + 0.02483 * b
    bound, width = 0.9277 - 3.6224 / (b - 2.0), 1.1239 + 1.1328 / (b - 3.4)
    none, few = xp.exp(-lam), lam < SEARCHED
    lam, a, b, bound, width, none, few = map(lanes.flat, (lam, a, b, bound, width, none, few))

    def attempt(words: Sequence[Array]) -> tuple[Array, Array]:
        w0, w1, w2, w3 = words
        u, v = lanes.unit(w0, w1) - 0.5, lanes.unit(w2, w3)
        s = 0.5 - xp.abs(u)
        k = xp.floor((2.0 * a / s + b) * u + lam + 0.43)
        quick = (s >= 0.07) & (v <= bound)
        y = (k + 1.0 - lam) / lam
        log = xp.log1p(y)
        density = -lam * ((1.0 + y) * log - y) + log - 0.5 * xp.log(2 * math.pi * (k + 1.0)) - _stirling(k + 1.0)
        slow = xp.log(v * width / (a / (s * s) + b)) > density
        return k, (k < 0.0) | (~quick & slow)

    w0, w1, _, _ = lanes.blocks(1)
    draws = lanes.search(lanes.unit(w0, w1), none, lambda k: lam / (k + 1.0), few)
    return lanes.as_integer(lanes.attempts(attempt, ~few, draws))


def binomial(lanes: DrawLanes, trials: Array, p: Array) -> Array:
    """Return draws of the binomial distribution."""
    xp = lanes.xp
    flipped = p > 0.5
    q = xp.where(flipped, 1.0 - p, p)
    n = lanes.as_float(trials)
    mean, r = n * q, xp.sqrt(n * q * (1.0 - q))
    b = 1.15 + 2.53 * r
    a = -0.0873 + 0.0248 * b + 0.01 * q
    bound, width = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * r
    m = xp.floor((n + 1.0) * q)
    step = xp.log(q / (1.0 - q) * ((n - m + 1.0) / (m + 1.0)))
    none, odds, few = xp.exp(n * xp.log1p(-q)), q / (1.0 - q), ~(mean >= SEARCHED)
    n, mean, a, b, bound, width, m, step = map(lanes.flat, (n, mean, a, b, bound, width, m, step))
    trials, flipped, none, odds, few = map(lanes.flat, (trials, flipped, none, odds, few))

    def attempt(words: Sequence[Array]) -> tuple[Array, Array]:
        w0, w1, w2, w3 = words
        u, v = lanes.unit(w0, w1) - 0.5, lanes.unit(w2, w3)
        s = 0.5 - xp.abs(u)
        k = xp.floor((2.0 * a / s + b) * u + mean + 0.5)
        quick = (s >= 0.07) & (v <= bound)
        d = k - m
        ratio = d * step - _gamma_shift(xp, m + 1.0, d) - _gamma_shift(xp, n - m + 1.0, -d)
        slow = xp.log(v * width / (a / (s * s) + b)) > ratio
        return k, (k < 0.0) | (k > n) | (~quick & slow)

    w0, w1, _, _ = lanes.blocks(1)
    counted = lanes.search(lanes.unit(w0, w1), none, lambda k: (n - k) / (k + 1.0) * odds, few)
    successes = lanes.as_integer(lanes.attempts(attempt, ~few, xp.minimum(counted, n)))
    return xp.where(flipped, trials - successes, successes)


def hypergeometric(lanes: DrawLanes, good: Array, bad: Array, sample: Array) -> Array:
    """Return draws of the hypergeometric distribution."""
    xp = lanes.xp
    total = good + bad
    count = xp.minimum(sample, total - sample)
    g, h, c = map(lanes.as_float, (xp.minimum(good, bad), xp.maximum(good, bad), count))
    n, w = g + h, h - c
    few = ~(c * (g / xp.clip(n, min=1.0)) >= SEARCHED)
    x, y = xp.minimum(g, c), xp.maximum(g, c)
    z = n + 1.0
    none = xp.exp(x * xp.log1p(-y / z) + _gamma_shift(xp, z, -x) - _gamma_shift(xp, z - y, -x))
    spread = xp.sqrt((n - c) * c / n * (g / n) * (h / (n - 1.0)) + 0.5)
    s = 1.7155277699214135 * spread + 0.8989161620588988
    center = c * (g / n) + 0.5
    m = xp.floor((c + 1.0) * ((g + 1.0) / (n + 2.0)))
    step = xp.log((g - m + 1.0) / (m + 1.0) * ((c - m + 1.0) / (w + m + 1.0)))
    few, x, y, none, s, center, m, step = map(lanes.flat, (few, x, y, none, s, center, m, step))
    mirrored, left = lanes.flat(good > bad), lanes.flat(sample > count)
    g, c, w, count, good = map(lanes.flat, (g, c, w, count, good))

    def attempt(words: Sequence[Array]) -> tuple[Array, Array]:
        w0, w1, w2, w3 = words
        u, v = 1.0 - lanes.unit(w0, w1), lanes.unit(w2, w3)
        k = xp.floor(center + s * (v - 0.5) / u)
        d = k - m
        ratio = d * step - _gamma_shift(xp, m + 1.0, d) - _gamma_shift(xp, g - m + 1.0, -d)
        ratio = ratio - _gamma_shift(xp, c - m + 1.0, -d) - _gamma_shift(xp, w + m + 1.0, d)
        return k, (k < 0.0) | (k > x) | (2.0 * xp.log(u) > ratio)

    w0, w1, _, _ = lanes.blocks(1)
    counted = lanes.search(lanes.unit(w0, w1), none, lambda k: (x - k) / (k + 1.0) * ((y - k) / (w + k + 1.0)), few)
    successes = lanes.as_integer(lanes.attempts(attempt, ~few, xp.minimum(counted, x)))
    successes = xp.where(mirrored, count - successes, successes)
    return xp.where(left, good - successes, successes)


def vonmises(lanes: DrawLanes, kappa: Array) -> Array:
    """Return draws of von Mises' distribution around 0."""
    xp = lanes.xp
    b = 1.0 / (xp.sqrt(1.0 + 4.0 * kappa * kappa) + 2.0 * kappa)
    e = 2.0 * b / (1.0 + b)
    root, scale = xp.sqrt(b), e * (2.0 - e)
    kappa, e, root, scale = map(lanes.flat, (kappa, e, root, scale))

    def attempt(words: Sequence[Array]) -> tuple[Array, Array]:
        w0, w1, w2, w3 = words
        t = root * xp.tan(math.pi * (lanes.unit(w0, w1) - 0.5))
        c = 2.0 - 2.0 / (1.0 + t * t)
        bound = kappa * (e - c) + xp.log((e + (1.0 - e) * c) / scale)
        return 2.0 * xp.arctan(t), xp.log(lanes.unit(w2, w3)) > bound

    return lanes.attempts(attempt, xp.ones_like(kappa) > 0.0, xp.zeros_like(kappa))


def zipf(lanes: DrawLanes, a: Array) -> Array:
    """Return draws of Zipf's distribution."""
    xp = lanes.xp
    two = math.log(2.0)
    b = a - 1.0
    tail, first = xp.expm1(-63.0 * two * b), xp.expm1(b * two)
    b, tail, first = map(lanes.flat, (b, tail, first))

    def attempt(words: Sequence[Array]) -> tuple[Array, Array]:
        w0, w1, w2, w3 = words
        u, v = lanes.unit(w0, w1), lanes.unit(w2, w3)
        k = xp.floor(xp.exp(-xp.log1p(u * tail) / b))
        x = xp.log1p(1.0 / k)
        slow = v * k * (xp.expm1(b * x) / first) > xp.exp(b * (x - two))
        return k, (k >= 2.0**63) | (k > 1.0) & slow

    return lanes.as_integer(lanes.attempts(attempt, xp.ones_like(b) > 0.0, xp.zeros_like(b)))


def integers(lanes: DrawLanes, low: Array, high: Array) -> Array:
    """Return integers that are all equally likely."""
    return lanes.integers(low, high)


LANE_SAMPLERS: Mapping[str, Callable[..., Array]] = {
    "integers": integers,
    "standard_gamma": standard_gamma,
    "log_standard_gamma": log_standard_gamma,
    "poisson": poisson,
    "binomial": binomial,
    "hypergeometric": hypergeometric,
    "vonmises": vonmises,
    "zipf": zipf,
}
