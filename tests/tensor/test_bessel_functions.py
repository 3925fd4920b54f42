"""Bessel functions: the integrals that they are on some backends, and derivatives by argument and order."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special

from treadle import tensor as tt
from treadle.compile import function
from treadle.tensor import bessel_integrals

NAMES = ("jv", "yv", "iv", "kv", "ive", "kve")
ORDERS = (0.0, 1.0, 0.3, 2.0, 7.5, 40.0, -0.5, -1.0, -3.3)
ARGUMENTS = (1e-3, 0.3, 1.0, 2.0, 7.5, 39.0, 41.0, 300.0)
EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "jv": mpmath.besselj, "yv": mpmath.bessely, "iv": mpmath.besseli, "kv": mpmath.besselk,
    "ive": lambda v, x: mpmath.besseli(v, x) * mpmath.exp(-abs(x)),
    "kve": lambda v, x: mpmath.besselk(v, x) * mpmath.exp(x),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_integral_is_the_function(name: str) -> None:
    v, x = tt.dvector("v"), tt.dvector("x")
    # SciPy's ive has no limit at 0 for negative orders.
    ends = (-2.0, np.nan) if name == "ive" else (-2.0, 0.0, np.nan)
    orders, arguments = (a.ravel() for a in np.meshgrid(ORDERS, (*ARGUMENTS, *ends)))
    with np.errstate(all="ignore"):
        found = function([v, x], getattr(bessel_integrals, name)(v, x), mode="VM")(orders, arguments)
        wanted = getattr(special, name)(orders, arguments)
    # Where it oscillates, a function is as accurate as its amplitude is large.
    atol = 1e-13 if name in {"jv", "yv"} else 0
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=atol)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_by_order_and_argument_are_exact(name: str) -> None:
    v, x = tt.dvector("v"), tt.dvector("x")
    by_order, by_argument = tt.grad(getattr(tt, name)(v, x).sum(), [v, x])
    orders, arguments = np.array([0.4, 1.0, 2.5, 12.0, 3.0]), np.array([0.7, 3.0, 40.0, 10.0, 0.05])
    found = function([v, x], [by_order, by_argument], mode="VM")(orders, arguments)
    with mpmath.workdps(40):
        pairs = [(mpmath.mpf(p), mpmath.mpf(q)) for p, q in zip(orders, arguments, strict=True)]
        wanted = [[float(mpmath.diff(EXACT[name], pair, n)) for pair in pairs] for n in ((1, 0), (0, 1))]
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


@pytest.mark.parametrize("name", ["i0e", "i1e", "k0e", "k1e"])
def test_derivatives_of_scaled_functions_hold_for_large_arguments(name: str) -> None:
    x = tt.dvector("x")
    points = (0.5, 29.0, 31.0, 1e3, 1e8)
    found = function([x], tt.grad(getattr(tt, name)(x).sum(), x), mode="VM")(np.array(points))
    f = mpmath.besseli if name[0] == "i" else mpmath.besselk
    sign = -1 if name[0] == "i" else 1
    with mpmath.workdps(50):

        def exact(x: float) -> float:
            n, p = int(name[1]), mpmath.mpf(x)
            neighbours = (f(n - 1, p) + f(n + 1, p)) / 2
            return float(mpmath.exp(sign * p) * (sign * f(n, p) - sign * neighbours))

        wanted = [exact(p) for p in points]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_order_that_is_no_float_has_no_derivative() -> None:
    x = tt.dvector("x")
    found = function([x], tt.grad(tt.jv(1, x).sum(), x), mode="VM")([0.0, 2.0])
    np.testing.assert_allclose(found, [0.5, special.jvp(1, 2.0)])
