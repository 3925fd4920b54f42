"""Derivatives of special functions where formulas break: integers, halves, equal arguments, poles and ends of domains.

Random arguments never meet these. The exact values are those of mpmath.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import treadle.tensor as tt
from treadle.compile import function

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Exact = Callable[..., Any]

# The real line: whole numbers, halves, next to them, tiny and large.
LINE = (-2.5, -2.0, -1.5, -1.0, -1 - 1e-9, -0.5, -1e-9, 0.0, 1e-9, 0.5, 1.0, 1 + 1e-9, 1.5, 2.0, 3.0, 10.0)
SHAPES = (0.5, 1.0, 1.5, 2.0, 3.0, 10.0)
INSIDE = (1e-9, 0.25, 0.5, 0.75, 1 - 1e-9)
ALONG = (1e-9, 0.5, 1.0, 2.0, 3.0, 10.0)


def _normal(x: Any) -> Any:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _xlogy(x: Any, y: Any) -> Any:
    return x * mpmath.log(y)


def _scaled(f: Exact, sign: int) -> Exact:
    return lambda v, x: f(v, x) * mpmath.exp(sign * abs(x))


# Each function, its exact value, and for each argument the points where it is checked.
FUNCTIONS: dict[str, tuple[Exact, tuple[Sequence[float], ...]]] = {
    "gamma": (mpmath.gamma, (LINE,)),
    "gammaln": (lambda x: mpmath.log(abs(mpmath.gamma(x))), (LINE,)),
    "digamma": (mpmath.digamma, (LINE,)),
    "tri_gamma": (lambda x: mpmath.psi(1, x), (LINE,)),
    "erf": (mpmath.erf, (LINE,)),
    "erfc": (mpmath.erfc, (LINE,)),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), (LINE,)),
    "erfinv": (mpmath.erfinv, ((-0.5, -1e-9, 0.0, 0.5, 1 - 1e-9),)),
    "expm1": (mpmath.expm1, (LINE,)),
    "log1p": (mpmath.log1p, ((-1 + 1e-9, -0.5, -1e-9, 0.0, 1e-9, 1.0),)),
    "sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), (LINE,)),
    "softplus": (lambda x: mpmath.log1p(mpmath.exp(x)), (LINE,)),
    "log1mexp": (lambda x: mpmath.log1p(-mpmath.exp(x)), ((-10.0, -1.0, -0.5, -1e-3),)),
    "logit": (lambda p: mpmath.log(p / (1 - p)), (INSIDE,)),
    "ndtr": (_normal, (LINE,)),
    "log_ndtr": (lambda x: mpmath.log(_normal(x)), (LINE,)),
    "sinc": (mpmath.sincpi, (LINE,)),
    "exprel": (lambda x: mpmath.expm1(x) / x if x else mpf(1), (LINE,)),
    "i0": (lambda x: mpmath.besseli(0, x), (LINE,)),
    "i1": (lambda x: mpmath.besseli(1, x), (LINE,)),
    "i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-x), (ALONG,)),
    "i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-x), (ALONG,)),
    "j0": (lambda x: mpmath.besselj(0, x), (LINE,)),
    "j1": (lambda x: mpmath.besselj(1, x), (LINE,)),
    "y0": (lambda x: mpmath.bessely(0, x), (ALONG,)),
    "y1": (lambda x: mpmath.bessely(1, x), (ALONG,)),
    "k0": (lambda x: mpmath.besselk(0, x), (ALONG,)),
    "k1": (lambda x: mpmath.besselk(1, x), (ALONG,)),
    "beta": (mpmath.beta, (SHAPES, SHAPES)),
    "betaln": (lambda a, b: mpmath.log(mpmath.beta(a, b)), (SHAPES, SHAPES)),
    "poch": (lambda z, m: mpmath.gamma(z + m) / mpmath.gamma(z), (SHAPES, SHAPES)),
    "xlogy": (_xlogy, (SHAPES, SHAPES)),
    "logaddexp": (lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)), (LINE, LINE)),
    "gammainc": (lambda a, x: mpmath.gammainc(a, 0, x, regularized=True), (SHAPES, ALONG)),
    "gammaincc": (lambda a, x: mpmath.gammainc(a, x, regularized=True), (SHAPES, ALONG)),
    "jv": (mpmath.besselj, ((-2.0, -1.5, 0.0, *SHAPES), ALONG[1:])),
    "yv": (mpmath.bessely, ((-1.5, 0.0, *SHAPES), ALONG[1:])),
    "iv": (mpmath.besseli, ((-2.0, -1.5, 0.0, *SHAPES), ALONG[1:])),
    "ive": (_scaled(mpmath.besseli, -1), (SHAPES, ALONG[1:])),
    "betainc": (lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True), (SHAPES, SHAPES, INSIDE)),
    "hyp2f1": (mpmath.hyp2f1, ((-0.5, 0.5, 1.0), (-0.5, 0.5, 1.0, 2.0), (0.5, 1.0, 1.5), (-0.9, 0.0, 0.5, 0.9))),
}  # fmt: skip
QUICK = ("gamma", "gammaln", "digamma", "tri_gamma", "erfcx", "erfinv", "log_ndtr", "sinc", "exprel", "j1", "i1", "k0")
POLES = {"gamma", "gammaln", "digamma", "tri_gamma"}


def places(name: str) -> list[tuple[float, ...]]:
    """Return the arguments where a function is smooth."""
    points = list(product(*FUNCTIONS[name][1]))
    return [p for p in points if not (name in POLES and p[0] <= 0 and p[0] == round(p[0]))]


def exact_slope(f: Exact, at: tuple[float, ...], which: int) -> float:
    """Return a derivative, from differences that are small relative to the distance from the next pole."""
    point = [mpf(x) for x in at]

    def moved(t: Any) -> Any:
        return f(*point[:which], t, *point[which + 1 :])

    h = mpf(10) ** -22
    return float((moved(point[which] + h) - moved(point[which] - h)) / (2 * h))


def check(names: Sequence[str], mode: str) -> None:
    """Compare all first derivatives of functions, compiled as one function, with exact ones."""
    operands, outs, where = [], [], []
    for name in names:
        rank = len(FUNCTIONS[name][1])
        xs = [tt.dvector() for _ in range(rank)]
        slopes = tt.grad(getattr(tt, name)(*xs).sum(), xs)
        operands += xs
        outs += slopes
        where += [(name, which) for which in range(rank)]
    values = [np.array(column, float) for name in names for column in zip(*places(name), strict=True)]
    gradients = function(operands, outs, mode=mode)(*values)
    wrong = []
    with mpmath.workdps(60):
        for (name, which), slopes in zip(where, gradients, strict=True):
            for at, slope in zip(places(name), slopes, strict=True):
                wanted = exact_slope(FUNCTIONS[name][0], at, which)
                if not abs(slope - wanted) <= 1e-9 * abs(wanted) + 1e-13:
                    wrong.append((name, which, at, float(slope), wanted))
    assert not wrong


def test_derivatives_hold_at_special_places() -> None:
    check(QUICK, "FAST_COMPILE")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["VM", "C"])
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if len(FUNCTIONS[name][1]) > 1])
def test_derivatives_by_every_argument_hold_at_special_places(name: str, mode: str) -> None:
    check([name], mode)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_derivatives_of_all_functions_of_one_argument_hold_at_special_places(mode: str) -> None:
    check([name for name in FUNCTIONS if len(FUNCTIONS[name][1]) == 1], mode)


# Of second order: parameters of hyp2f1 have no second derivative, which is refused.
TWICE = [name for name in FUNCTIONS if name != "hyp2f1"]


def exact_curvature(f: Exact, at: tuple[float, ...], i: int, j: int) -> float:
    """Return a second derivative, from differences as small as those of first ones."""
    h = mpf(10) ** -15

    def moved(*signs: int) -> Any:
        point = [mpf(x) for x in at]
        for which, sign in zip((i, j), signs, strict=True):
            point[which] += sign * h
        return f(*point)

    if i == j:
        return float((moved(1, 0) - 2 * moved(0, 0) + moved(-1, 0)) / h**2)
    return float((moved(1, 1) - moved(1, -1) - moved(-1, 1) + moved(-1, -1)) / (2 * h) ** 2)


def check_twice(names: Sequence[str], mode: str) -> None:
    """Compare all second derivatives of functions with exact ones."""
    wrong = []
    for name in names:
        f, columns = FUNCTIONS[name]
        xs = [tt.dvector() for _ in columns]
        slopes = tt.grad(getattr(tt, name)(*xs).sum(), xs)
        outs = [tt.grad(slope.sum(), xs, disconnected_inputs="ignore") for slope in slopes]
        values = [np.array(column, float) for column in zip(*places(name), strict=True)]
        curvatures = iter(function(xs, [y for row in outs for y in row], mode=mode, on_unused_input="ignore")(*values))
        with mpmath.workdps(60):
            for i, j in product(range(len(xs)), repeat=2):
                for at, curvature in zip(places(name), next(curvatures), strict=True):
                    wanted = exact_curvature(f, at, i, j)
                    if not abs(curvature - wanted) <= 1e-7 * abs(wanted) + 1e-11:
                        wrong.append((name, i, j, at, float(curvature), wanted))
    assert not wrong


def test_second_derivatives_hold_at_special_places() -> None:
    check_twice(("gamma", "digamma", "erfcx", "sinc", "betaln", "gammainc"), "FAST_COMPILE")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["VM", "C"])
@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives_of_all_functions_hold_at_special_places(name: str, mode: str) -> None:
    check_twice([name], mode)
