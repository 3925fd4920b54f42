"""Error functions and the normal distribution far out in the tails, against mpmath."""

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

from treadle import tensor as tt
from treadle.compile import function

Exact = Callable[[Any], Any]


def derivatives(build: Callable[[Any], Any], points: Sequence[float]) -> list[Any]:
    """Return a function's value, first and second derivative at points, as the VM computes them."""
    x = tt.dvector("x")
    value = build(x)
    first = tt.grad(value.sum(), x)
    second = tt.grad(first.sum(), x)
    return list(function([x], [value, first, second], mode="VM")(np.array(points)))


def mills(x: Any) -> Any:
    """Return the normal density over the distribution function."""
    return mpmath.npdf(x) / (mpmath.erfc(-x / mpmath.sqrt(2)) / 2)


def ndtri_exp(y: Any) -> Any:
    start = -mpmath.sqrt(-2 * y)
    return mpmath.findroot(lambda x: (mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2) - y) / y, start)


def repeated(n: int, x: Any) -> Any:
    """Return exp(x^2) times the n-th repeated integral of erfc, by its recurrence in many digits."""
    before, last = 2 / mpmath.sqrt(mpmath.pi), mpmath.exp(x * x) * mpmath.erfc(x)
    for k in range(1, n + 1):
        before, last = last, (before - 2 * x * last) / (2 * k)
    return last


CASES: dict[str, tuple[Callable[[Any], Any], Exact, Exact, Exact, Sequence[float]]] = {
    "erfcx": (
        tt.erfcx,
        lambda x: repeated(0, x),
        lambda x: -2 * repeated(1, x),
        lambda x: 8 * repeated(2, x),
        (-5.0, -0.5, 0.0, 1e-3, 0.7, 3.0, 12.0, 100.0),
    ),
    "log_ndtr": (
        tt.log_ndtr,
        lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2),
        mills,
        lambda x: -mills(x) * (x + mills(x)),
        (-1e3, -40.0, -5.0, -1.0, 0.0, 2.0, 9.0, 30.0),
    ),
    "ndtri_exp": (
        tt.ndtri_exp,
        ndtri_exp,
        lambda y: 1 / mills(ndtri_exp(y)),
        lambda y: (ndtri_exp(y) + mills(ndtri_exp(y))) / mills(ndtri_exp(y)) ** 2,
        (-1e4, -1e3, -30.0, -3.0, -1.0),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_hold_in_the_tails(name: str) -> None:
    build, *exact, points = CASES[name]
    values_by_order = derivatives(build, points)
    with mpmath.workdps(250):
        for computed, function_of in zip(values_by_order, exact, strict=True):
            # exp(x^2) turns a rounding error of x^2 into a relative one; nothing else may be lost.
            wanted = [float(function_of(mpmath.mpf(x))) for x in points]
            np.testing.assert_allclose(computed, wanted, rtol=1e-12)


def test_derivatives_hold_at_the_ends_of_the_range() -> None:
    _, first, _ = derivatives(tt.ndtri_exp, (-1e300,))
    np.testing.assert_allclose(first, 1 / np.sqrt(2e300), rtol=1e-13)
    value, first, second = derivatives(tt.log_ndtr, (-1e150, 50.0))
    np.testing.assert_allclose(value, [-5e299, 0], rtol=1e-14)
    np.testing.assert_allclose(first, [1e150, 0], rtol=1e-14)
    np.testing.assert_allclose(second, [-1, 0], rtol=1e-14)


@np.errstate(all="ignore")
def test_bodies_agree_with_scipy() -> None:
    """The bodies that JAX and PyTorch compute."""
    from scipy import special

    points = np.concatenate([np.linspace(-30, 30, 61), [-1e3, 1e3, -np.inf, np.inf, np.nan]])
    for name in ("erfcx", "ndtr", "log_ndtr", "ndtri_exp", "erfinv", "erfcinv"):
        arguments = points if name[-3:] != "inv" else np.linspace(0.02, 0.98, 49)
        body = tt.SCALAR_OPS[getattr(tt, name).name].formula_for(["float64"]).evaluator()
        np.testing.assert_allclose(body(arguments)[0], getattr(special, name)(arguments), rtol=1e-12, atol=1e-300)
    h, a = np.meshgrid(points, points[::3])
    body = tt.SCALAR_OPS["owens_t"].formula_for(["float64"] * 2).evaluator()
    np.testing.assert_allclose(body(h, a)[0], special.owens_t(h, a), rtol=1e-10, atol=1e-100)


def test_nothing_times_the_logarithm_of_zero_has_a_derivative() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    by_x, by_y = tt.grad(tt.xlogy(x, y).sum(), [x, y])
    slopes = function([x, y], [by_x, by_y], mode="VM")([0.0, 0.0, 2.0], [0.0, 3.0, 4.0])
    np.testing.assert_allclose(slopes, [[-np.inf, np.log(3), np.log(4)], [0, 0, 0.5]])


@pytest.mark.parametrize("build", [tt.sinc, tt.exprel], ids=["sinc", "exprel"])
def test_derivatives_do_not_lose_digits_near_zero(build: Callable[[Any], Any]) -> None:
    points = (0.0, 1e-300, 1e-9, 1e-4, -0.3, 0.31, 0.33, 0.99, 1.01)
    name = "sinc" if build is tt.sinc else "exprel"
    with mpmath.workdps(50):
        exact = mpmath.sincpi if name == "sinc" else (lambda x: mpmath.expm1(x) / x if x else 1)
        wanted = [[float(mpmath.diff(exact, mpmath.mpf(x) or mpmath.mpf("1e-15"), n)) for x in points] for n in (1, 2)]
    _, first, second = derivatives(build, points)
    np.testing.assert_allclose(first, wanted[0], rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(second, wanted[1], rtol=1e-12)
