"""Bessel functions: the integrals that some backends compute, and derivatives by argument and order."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special

from treadle import tensor as tt
from treadle.compile import function
from treadle.tensor.special_functions import bessel_integrals

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
    ends = (-2.0, np.nan, np.inf, -np.inf) if name == "ive" else (-2.0, 0.0, np.nan, np.inf, -np.inf)
    orders, arguments = (a.ravel() for a in np.meshgrid(ORDERS, (*ARGUMENTS, *ends)))
    with np.errstate(all="ignore"):
        integrals = function([v, x], getattr(bessel_integrals, name)(v, x), mode="VM")(orders, arguments)
        wanted = getattr(special, name)(orders, arguments)
    # Where it oscillates, a function is as accurate as its amplitude is large.
    atol = 1e-13 if name in {"jv", "yv"} else 0
    np.testing.assert_allclose(integrals, wanted, rtol=1e-11, atol=atol)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_by_order_and_argument_are_exact(name: str) -> None:
    v, x = tt.dvector("v"), tt.dvector("x")
    by_order, by_argument = tt.grad(getattr(tt, name)(v, x).sum(), [v, x])
    orders, arguments = np.array([0.4, 1.0, 2.5, 12.0, 3.0]), np.array([0.7, 3.0, 40.0, 10.0, 0.05])
    derivatives = function([v, x], [by_order, by_argument], mode="VM")(orders, arguments)
    with mpmath.workdps(40):
        pairs = [(mpmath.mpf(p), mpmath.mpf(q)) for p, q in zip(orders, arguments, strict=True)]
        wanted = [[float(mpmath.diff(EXACT[name], pair, n)) for pair in pairs] for n in ((1, 0), (0, 1))]
    np.testing.assert_allclose(derivatives, wanted, rtol=1e-10)


# Orders equal to the argument, or nearly so; whole and half ones on both sides of 0; far beyond the range of exp(x).
SPECIAL = [
    (1, 1), (2, 2), (0.5, 0.5), (50, 50), (-1.5, 1.5), (-1, 1), (2, 2.0000001), (2.0000001, 2), (1.04, 1), (1.06, 1),
    (-1, 2), (-3, 2), (-2, 24), (-0.5, 3), (0, 2), (1000, 990.0), (1e-3, 1e-3),
]  # fmt: skip


def _modified_second(v: Any, x: Any, order: tuple[int, int], scaled: bool) -> Any:
    """Return a derivative of K, scaled or not, from its integral (DLMF 10.32.9)."""
    by_order, by_size = order
    c = mpmath.sqrt(v * v + x * x)
    peak, width = mpmath.asinh(v / x), 20 / mpmath.sqrt(c) + 20 / (1 + c)

    def function(t: Any) -> Any:
        fall = mpmath.exp(v * t - x * (mpmath.cosh(t) - scaled)) * t**by_order
        both = 1 + (-1) ** by_order * mpmath.exp(-2 * v * t)
        return fall * both / 2 * (scaled - mpmath.cosh(t)) ** by_size

    ends = [0, peak, peak + width / 4, peak + width] if peak > 0 else [0, width / 4, width]
    return mpmath.quad(function, ends)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_by_order_are_exact_at_special_orders(name: str) -> None:
    v, x = tt.dvector("v"), tt.dvector("x")
    first = tt.grad(getattr(tt, name)(v, x).sum(), v)
    seconds = tt.grad(first.sum(), [v, x])
    derivatives = function([v, x], [first, *seconds], mode="FAST_COMPILE")(*np.array(SPECIAL, float).T)
    with mpmath.workdps(30 if name in {"kv", "kve"} else 50):
        step = mpmath.mpf(10) ** -18
        points = [(mpmath.mpf(p), mpmath.mpf(q)) for p, q in SPECIAL]
        for order, values in zip(((1, 0), (2, 0), (1, 1)), derivatives, strict=True):
            wanted = [
                float(
                    _modified_second(abs(point[0]), point[1], order, name == "kve")
                    * mpmath.sign(point[0] or 1) ** order[0]
                    if name in {"kv", "kve"}
                    else mpmath.diff(EXACT[name], point, order, h=step)
                )
                for point in points
            ]
            np.testing.assert_allclose(values, wanted, rtol=1e-10, atol=1e-14, err_msg=str(order))


@pytest.mark.parametrize("name", ["i0e", "i1e", "k0e", "k1e"])
def test_derivatives_of_scaled_functions_hold_for_large_arguments(name: str) -> None:
    x = tt.dvector("x")
    points = (0.5, 29.0, 31.0, 1e3, 1e8)
    slopes = function([x], tt.grad(getattr(tt, name)(x).sum(), x), mode="VM")(np.array(points))
    f = mpmath.besseli if name[0] == "i" else mpmath.besselk
    sign = -1 if name[0] == "i" else 1
    with mpmath.workdps(50):

        def exact(x: float) -> float:
            n, p = int(name[1]), mpmath.mpf(x)
            neighbours = (f(n - 1, p) + f(n + 1, p)) / 2
            return float(mpmath.exp(sign * p) * (sign * f(n, p) - sign * neighbours))

        wanted = [exact(p) for p in points]
    np.testing.assert_allclose(slopes, wanted, rtol=1e-12)


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "ive", "kv"])
def test_derivative_by_order_at_0_is_that_from_above(name: str) -> None:
    v, x = tt.dscalar("v"), tt.dscalar("x")
    slope = function([v, x], tt.grad(getattr(tt, name)(v, x), v), mode="VM")(0.0, 1.3)
    # DLMF 10.15.3 and 10.38.4: the derivatives of J, Y and I at 0 are pi / 2 times Y0 and -J0, and -K0; K is even.
    scale = np.exp(-1.3) if name == "ive" else 1.0
    exact = {"jv": np.pi / 2 * special.y0(1.3), "yv": -np.pi / 2 * special.j0(1.3), "kv": 0.0}
    assert slope == pytest.approx(exact.get(name, -scale * special.k0(1.3)), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize(("name", "third"), [("j1", -0.375), ("i1", 0.375)])
def test_second_derivative_of_order_1_is_accurate_near_0(name: str, third: float) -> None:
    x = tt.dvector("x")
    slope = tt.grad(tt.grad(getattr(tt, name)(x).sum(), x).sum(), x)
    points = np.array([1e-300, 1e-12, -1e-8, 1e-4])
    np.testing.assert_allclose(function([x], slope, mode="VM")(points), third * points, rtol=1e-7)


def test_order_that_is_not_a_float_has_no_derivative() -> None:
    x = tt.dvector("x")
    slopes = function([x], tt.grad(tt.jv(1, x).sum(), x), mode="VM")([0.0, 2.0])
    np.testing.assert_allclose(slopes, [0.5, special.jvp(1, 2.0)])
