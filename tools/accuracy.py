"""Write docs/accuracy.tsv: how far each special function is from exact values, on each backend.

A function is computed as a user computes it, at arguments over its whole domain, and compared with mpmath. An error is
counted in units of the last place (ulp) of the exact value. Add a function by a row of `FUNCTIONS`.
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import mpmath
import numpy as np
from scipy import special

import treadle.tensor as tt
from tools.simd_accuracy import ulps
from treadle.compile import BACKENDS, function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from treadle.tensor import TensorVariable

TABLE = Path(__file__).resolve().parents[1] / "docs" / "accuracy.tsv"
DTYPES = ("float64", "float32")
COLUMNS = ("function", "dtype", "backend", "ulp", "at")
# Decimal digits that exact values are computed with.
PRECISION = 60


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers of an operand: half of them evenly spread, half of evenly spread logarithms where it is positive."""

    low: float
    high: float

    def draw(self, random: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Return this many numbers."""
        even = random.uniform(self.low, self.high, count)
        if self.low <= 0:
            return even
        spread = np.exp(random.uniform(np.log(self.low), np.log(self.high), count))
        return np.where(np.arange(count) % 2 == 0, even, spread)


@dataclass(frozen=True, slots=True)
class Function:
    """A function that is measured.

    Attributes
    ----------
    name
        The public name.
    build
        Takes variables, returns the result.
    exact
        The same of mpmath's numbers.
    domains
        Ranges of all operands: one tuple for each part of the domain.
    """

    name: str
    build: Callable[..., TensorVariable]
    exact: Callable[..., mpmath.mpf]
    domains: tuple[tuple[Range, ...], ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """The largest error of a function, and where it occurs."""

    name: str
    dtype: str
    backend: str
    error: float
    at: tuple[float, ...]

    def row(self) -> tuple[str, ...]:
        """Return the cells of the table."""
        return self.name, self.dtype, self.backend, f"{self.error:.3g}", " ".join(f"{x:.9g}" for x in self.at)


def _lower_gamma(a: mpmath.mpf, x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.gammainc(a, 0, x, regularized=True)


def _upper_gamma(a: mpmath.mpf, x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.gammainc(a, x, mpmath.inf, regularized=True)


def _lower_beta(a: mpmath.mpf, b: mpmath.mpf, x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.betainc(a, b, 0, x, regularized=True)


def _log_beta(a: mpmath.mpf, b: mpmath.mpf) -> mpmath.mpf:
    return mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)


def _log_gamma(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.log(abs(mpmath.gamma(x))) if x < 0 else mpmath.loggamma(x)


def _upper_tail(x: mpmath.mpf) -> mpmath.mpf:
    """Return the probability that a normal variable is above x."""
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def _log_ndtr(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.log1p(-_upper_tail(x)) if x > 0 else mpmath.log(_upper_tail(-x))


def _ndtri_exp(y: mpmath.mpf) -> mpmath.mpf:
    start = special.ndtri_exp(float(y))
    return mpmath.findroot(lambda x: (_log_ndtr(x) - y) / y, mpmath.mpf(float(start)))


def _owens_t(h: mpmath.mpf, a: mpmath.mpf) -> mpmath.mpf:
    return mpmath.quad(lambda t: mpmath.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mpmath.pi)


def _erfcx(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.exp(x * x) * mpmath.erfc(x)


_WIDE, _SMALL, _UNIT = Range(1e-6, 1e6), Range(1e-3, 50), Range(1e-6, 0.999)
_BELOW = Range(-20, 0)
_REAL, _PROBABILITY, _ORDER, _ARGUMENT = Range(-5, 5), Range(1e-30, 1), Range(0, 20), Range(1e-3, 100)

FUNCTIONS: tuple[Function, ...] = (
    Function("gamma", tt.gamma, mpmath.gamma, ((Range(1e-6, 170),), (_BELOW,))),
    Function("gammaln", tt.gammaln, _log_gamma, ((_WIDE,), (Range(0.5, 3),), (_BELOW,))),
    Function("digamma", tt.digamma, mpmath.digamma, ((_WIDE,), (Range(0.5, 3),), (_BELOW,))),
    Function("tri_gamma", tt.tri_gamma, lambda x: mpmath.polygamma(1, x), ((_WIDE,), (_BELOW,))),
    Function("polygamma", lambda x: tt.polygamma(2, x), lambda x: mpmath.polygamma(2, x), ((_WIDE,), (_BELOW,))),
    Function("beta", tt.beta, mpmath.beta, ((_SMALL, _SMALL),)),
    Function("betaln", tt.betaln, _log_beta, ((_SMALL, _SMALL), (_WIDE, _SMALL))),
    Function("poch", tt.poch, mpmath.rf, ((_SMALL, Range(1e-3, 20)),)),
    Function("gammainc", tt.gammainc, _lower_gamma, ((_SMALL, _SMALL),)),
    Function("gammaincc", tt.gammaincc, _upper_gamma, ((_SMALL, _SMALL),)),
    Function("betainc", tt.betainc, _lower_beta, ((_SMALL, _SMALL, _UNIT),)),
    Function("erf", tt.erf, mpmath.erf, ((_REAL,), (Range(1e-30, 1),))),
    Function("erfc", tt.erfc, mpmath.erfc, ((_REAL,), (Range(1, 9),))),
    Function("erfcx", tt.erfcx, _erfcx, ((_REAL,), (Range(1, 1e6),))),
    Function("erfinv", tt.erfinv, mpmath.erfinv, ((Range(-1, 1),), (_PROBABILITY,))),
    Function("ndtr", tt.ndtr, lambda x: _upper_tail(-x), ((_REAL,), (Range(-13, -1),))),
    Function("log_ndtr", tt.log_ndtr, _log_ndtr, ((_REAL,), (Range(-1000, -1),))),
    Function("ndtri", tt.ndtri, lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), ((_PROBABILITY,),)),
    Function("ndtri_exp", tt.ndtri_exp, _ndtri_exp, ((Range(-30, -1e-3),), (Range(-1000, -1),))),
    Function("owens_t", tt.owens_t, _owens_t, ((Range(0, 5), Range(0, 3)),)),
    Function("xlogy", tt.xlogy, lambda x, y: x * mpmath.log(y), ((_SMALL, _SMALL),)),
    Function("xlog1py", tt.xlog1py, lambda x, y: x * mpmath.log1p(y), ((_SMALL, _SMALL),)),
    Function("logit", tt.logit, lambda p: mpmath.log(p / (1 - p)), ((_PROBABILITY,), (Range(0.4, 0.6),))),
    Function("exprel", tt.exprel, lambda x: mpmath.expm1(x) / x, ((_REAL,), (Range(1e-30, 1),))),
    Function("j0", tt.j0, lambda x: mpmath.besselj(0, x), ((Range(1e-3, 2),), (Range(3, 3.7),))),
    Function("y0", tt.y0, lambda x: mpmath.bessely(0, x), ((Range(1e-3, 0.8),), (Range(1.2, 3.7),))),
    Function("i0", tt.i0, lambda x: mpmath.besseli(0, x), ((_ARGUMENT,),)),
    Function("k0", tt.k0, lambda x: mpmath.besselk(0, x), ((Range(1e-3, 80),),)),
    Function("jv", tt.jv, mpmath.besselj, ((Range(5, 20), Range(1e-1, 5)),)),
    Function("yv", tt.yv, mpmath.bessely, ((Range(5, 20), Range(1e-1, 5)),)),
    Function("ive", tt.ive, lambda v, x: mpmath.besseli(v, x) * mpmath.exp(-x), ((_ORDER, _ARGUMENT),)),
    Function("kve", tt.kve, lambda v, x: mpmath.besselk(v, x) * mpmath.exp(x), ((_ORDER, _ARGUMENT),)),
    Function("hyp2f1", tt.hyp2f1, mpmath.hyp2f1, ((Range(0.1, 5), Range(0.1, 5), Range(0.1, 5), Range(-0.9, 0.9)),)),
)  # fmt: skip


def measure(each: Function, dtype: str, modes: Sequence[str], count: int) -> Iterator[Finding]:
    """Measure a function on backends, at this many arguments of each part of its domain."""
    random = np.random.default_rng(0)
    parts = [[r.draw(random, count) for r in domain] for domain in each.domains]
    with np.errstate(all="ignore"):
        operands = [np.concatenate(columns).astype(dtype) for columns in zip(*parts, strict=True)]
    with mpmath.workdps(PRECISION):
        exact = [each.exact(*map(mpmath.mpf, xs)) for xs in zip(*(x.tolist() for x in operands), strict=True)]
    variables = [tt.vector(dtype=dtype) for _ in operands]
    # An order that is a Python number makes the result float64.
    result = each.build(*variables).astype(dtype)
    for mode in modes:
        try:
            values = function(variables, result, mode=mode.upper())(*operands)
        except NotImplementedError:
            continue
        errors = [ulps(float(v), e, dtype) for v, e in zip(values, exact, strict=True)]
        worst = int(np.argmax(errors))
        yield Finding(each.name, dtype, mode, errors[worst], tuple(float(x[worst]) for x in operands))


def main() -> int:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="arguments for each part of a domain")
    parser.add_argument("--backends", nargs="*", default=BACKENDS.names(), help="names of backends")
    parser.add_argument("--functions", nargs="*", default=[each.name for each in FUNCTIONS], help="names of functions")
    options = parser.parse_args()
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    if TABLE.exists():
        with TABLE.open(encoding="utf-8", newline="") as file:
            known = {tuple(row[:3]): tuple(row) for row in list(csv.reader(file, delimiter="\t"))[1:]}
    for each in FUNCTIONS:
        if each.name in options.functions:
            for dtype in DTYPES:
                for finding in measure(each, dtype, options.backends, options.count):
                    known[finding.row()[:3]] = finding.row()
                    print(*finding.row(), flush=True)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows([COLUMNS, *sorted(known.values())])
    return 0


if __name__ == "__main__":
    sys.exit(main())
