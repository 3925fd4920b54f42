"""Derivatives of special functions by their parameters, against mpmath, at the ends of their ranges."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor.errors import NullTypeGradError

if TYPE_CHECKING:
    from collections.abc import Callable

# Shape and argument: tiny and huge ones, in both tails and between them.
GAMMA = [
    (1e-8, 1e-17), (1e-8, 0.7), (1e-3, 3.0), (0.3, 1e-6), (0.99, 19.8), (1.0, 1.0), (12.0, 1e-8), (12.0, 240.0),
    (300.0, 150.0), (300.0, 450.0), (5e3, 4.95e3), (5e3, 5.2e3),
]  # fmt: skip
BETA = [
    (1e-3, 2.0, 0.4), (0.2, 0.3, 1e-9), (0.2, 0.3, 0.999), (1.0, 1.0, 0.4), (3.0, 0.05, 0.9), (30.0, 2.0, 0.2),
    (500.0, 700.0, 0.41), (500.0, 700.0, 0.45), (2e3, 1.5, 0.9999),
]  # fmt: skip


@pytest.fixture(autouse=True)
def precision() -> Any:
    with mpmath.workdps(50):
        yield


def lower_gamma(a: Any, x: Any) -> Any:
    return mpmath.gammainc(a, 0, x, regularized=True) if x <= a else 1 - mpmath.gammainc(a, x, regularized=True)


def lower_beta(a: Any, b: Any, x: Any) -> Any:
    return mpmath.betainc(a, b, 0, x, regularized=True)


def slope(f: Callable[..., Any], at: tuple[float, ...], order: tuple[int, ...]) -> float:
    """Return a derivative, by differences in high precision whose steps follow the size of the operands."""
    exact = [mpmath.mpf(x) for x in at]
    scales = [x if n else 1 for x, n in zip(exact, order, strict=True)]
    steps = [mpmath.mpf(10) ** -12 if n else 0 for n in order]
    moved = [n for n, m in enumerate(order) if m]

    def scaled(*ts: Any) -> Any:
        operands = list(exact)
        for n, t in zip(moved, ts, strict=True):
            operands[n] = scales[n] * t
        return f(*operands)

    ones, orders = (1,) * len(moved), tuple(order[n] for n in moved)
    derivative = mpmath.diff(
        scaled, ones if len(moved) > 1 else 1, orders if len(moved) > 1 else orders[0], h=max(steps)
    )
    return float(derivative / mpmath.fprod(scales[n] ** order[n] for n in moved))


def test_gammainc_has_exact_derivatives_by_its_shape() -> None:
    a, x = tt.dvectors("ax")
    first = tt.grad(tt.gammainc(a, x).sum(), a)
    second = tt.grad(first.sum(), a)
    at = np.array(GAMMA).T
    derivatives = function([a, x], [first, second], mode="FAST_COMPILE")(*at)
    for order, values, tolerance in ((1, derivatives[0], 1e-12), (2, derivatives[1], 1e-9)):
        exact = [slope(lower_gamma, case, (order, 0)) for case in GAMMA]
        np.testing.assert_allclose(values, exact, rtol=tolerance)


def test_betainc_has_exact_derivatives_by_its_shapes() -> None:
    a, b, x = tt.dvectors("abx")
    first = tt.grad(tt.betainc(a, b, x).sum(), [a, b])
    second = [tt.grad(first[0].sum(), a), tt.grad(first[0].sum(), b), tt.grad(first[1].sum(), b)]
    at = np.array(BETA).T
    derivatives = function([a, b, x], [*first, *second], mode="FAST_COMPILE")(*at)
    orders = ((1, 0, 0), (0, 1, 0), (2, 0, 0), (1, 1, 0), (0, 2, 0))
    for order, values in zip(orders, derivatives, strict=True):
        exact = [slope(lower_beta, case, order) for case in BETA]
        np.testing.assert_allclose(values, exact, rtol=1e-10 if sum(order) == 1 else 1e-8, err_msg=str(order))


def slope_of_hyp2f1(case: tuple[float, ...], which: int) -> float:
    """Return a derivative; at 1, that of Gauss's sum."""
    order, h = tuple(int(k == which) for k in range(4)), mpmath.mpf(10) ** -20

    def gauss(a: Any, b: Any, c: Any) -> Any:
        return mpmath.gammaprod([c, c - a - b], [c - a, c - b])

    if case[3] == 1:
        return float(mpmath.diff(gauss, case[:3], order[:3], h=h))
    return float(mpmath.diff(mpmath.hyp2f1, case, order, h=h))


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_hyp2f1_has_exact_derivatives_by_its_parameters(mode: str) -> None:
    variables = tt.dvectors("abcz")
    cases = [
        (0.5, 1.2, 2.0, 0.3), (1.5, -2.0, 0.7, 0.9), (3.0, 2.5, 1.1, -4.0), (1e-6, 30.0, 20.0, 0.5), (2, 3, 4, 0),
        # A term's derivative is 0 while the terms go on.
        (-0.5, 0.5, 1.0, 0.5), (-0.5, 0.5, 1.0, 0.9), (1.0, 1.0, -0.5, 0.5), (-1.5, 0.3, 1.0, 0.5), (1, 0, -0.5, -0.9),
        (0.5, -0.5, 1.0, -0.5), (0.5, 0.0, 1.5, 0.5), (0, 0.5, 1.5, 0.5), (-2.0, 0.5, 1.5, 0.5), (0.5, 0.5, 0.5, 0.3),
        # The end of the range.
        (1, 31, 41, 1), (0.5, 0.5, 1.5, 1), (-0.5, 0.5, 1, 1), (2.5, -2.25, 1.5, 1), (0.5, -2.0, 1.5, 1),
        (3.0, -1.5, 2.0, 1), (0.3, 0.7, 40.0, 1),
    ]  # fmt: skip
    slopes = [tt.grad(tt.hyp2f1(*variables).sum(), v) for v in variables]
    gradients = function(variables, slopes, mode=mode)(*np.array(cases).T)
    for which, values in enumerate(gradients):
        # At 1 the derivative by z is infinite for most of these.
        inside = [n for n, case in enumerate(cases) if which < 3 or case[3] < 1]
        exact = [slope_of_hyp2f1(cases[n], which) for n in inside]
        np.testing.assert_allclose(values[inside], exact, rtol=1e-11, atol=1e-15, err_msg=str(which))


def test_third_derivative_by_a_shape_is_refused_with_its_reason() -> None:
    a, x = tt.dscalars("ax")
    second = tt.grad(tt.grad(tt.gammainc(a, x), a), a)
    with pytest.raises(NullTypeGradError, match="there is no third derivative by the shape"):
        tt.grad(second, a)


# Next to poles on both sides, between them, and huge.
POLYGAMMA = (
    -1e-10, -1e-16, -1e-100, 1e-12, -1 - 1e-10, -2 - 1e-12, -1 + 1e-10, -2.7e-9, -0.5, -0.25, -30.3,
    -1e3 - 1e-10, 1e200, 5.0,
)  # fmt: skip


@pytest.mark.parametrize(
    "mode",
    ["VM", "C", "NUMBA", pytest.param("JAX", marks=pytest.mark.slow), pytest.param("PYTORCH", marks=pytest.mark.slow)],
)
def test_polygamma_is_exact_next_to_its_poles_and_for_huge_arguments(mode: str) -> None:
    n, x = tt.dvectors("nx")
    outs = [tt.grad(tt.digamma(x).sum(), x), tt.polygamma(n, x), tt.polygamma(n + 1, x), tt.polygamma(n + 19, x)]
    derivatives = function([n, x], outs, mode=mode)(np.ones(len(POLYGAMMA)), np.array(POLYGAMMA))
    for order, values in zip((1, 1, 2, 20), derivatives, strict=True):
        exact = [float(mpmath.psi(order, mpmath.mpf(p))) for p in POLYGAMMA]
        # JAX takes subnormal numbers for zeros, and PyTorch's powers are less accurate.
        np.testing.assert_allclose(
            values, exact, rtol=1e-11 if mode in {"JAX", "PYTORCH"} else 1e-13, err_msg=str(order)
        )


@cache
def exact_slope(which: int, *case: float) -> float:
    """Return the derivative of hyp2f1 by one of its operands, the same for all modes."""
    order, step = [int(i == which) for i in range(4)], mpmath.mpf(10) ** -18
    return float(mpmath.diff(mpmath.hyp2f1, [mpmath.mpf(x) for x in case], order, h=step))


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA", "JAX"])
def test_derivatives_of_hyp2f1_by_parameters_hold_up_to_1(mode: str) -> None:
    parameters = [
        (0.5, 0.5, 1.0),
        (-0.5, 0.5, 1.0),
        (1.0, 1.0, 2.0),
        (2.0, 3.0, 1.5),
        (1.3, -0.7, 3.1),
        (20.0, 3.0, 30.0),
    ]
    places = (0.98, 0.99, 0.991, 0.9997, 0.99999, 1 - 1e-9, 1 - 2.0**-53)
    cases = [(*p, z) for p in parameters for z in places]
    variables = tt.dvectors("a", "b", "c", "z")
    slopes = tt.grad(tt.hyp2f1(*variables).sum(), list(variables[:3]))
    gradients = function(variables, slopes, mode=mode)(*np.array(cases).T)
    for which, values in enumerate(gradients):
        exact = [exact_slope(which, *case) for case in cases]
        np.testing.assert_allclose(values, exact, rtol=1e-9)


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_derivatives_of_hyp2f1_by_parameters_hold_far_below_0(mode: str) -> None:
    c = tt.dvector("c")
    slope = tt.grad(tt.hyp2f1(0.5, 0.5, c, -1e9).sum(), c)
    at = [mpmath.mpf("0.5"), mpmath.mpf("0.5"), mpmath.mpf(1), mpmath.mpf(-(10**9))]
    exact = float(mpmath.diff(mpmath.hyp2f1, at, (0, 0, 1, 0), h=mpmath.mpf(10) ** -18))
    np.testing.assert_allclose(function([c], slope, mode=mode)([1.0]), [exact], rtol=1e-9)


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_series_of_hyp2f1_that_need_too_many_terms_are_nan_and_end(mode: str) -> None:
    a, b, c, z = (tt.dvector(name) for name in "abcz")
    slope = function([a, b, c, z], tt.grad(tt.hyp2f1(a, b, c, z).sum(), a), mode=mode)
    endless = np.array([[-1e18, 0.5, 1.5, 0.5], [np.inf, 0.5, 1.5, 0.5], [0.5, -np.inf, 1.5, 0.995], [1, 2, -1e7, 0.9]])
    assert np.isnan(slope(*endless.T)).all()
    # Large parameters that end soon: the function is about exp(a z), and (1 - z)**-a.
    near = np.array([[0.5, 1e8, 1e8, 1e-3], [0.5, 1e4, 1e4, 0.5]])
    expected = -np.log1p(-near[:, 3]) * (1 - near[:, 3]) ** -0.5
    np.testing.assert_allclose(slope(*near.T), expected, rtol=1e-12)
