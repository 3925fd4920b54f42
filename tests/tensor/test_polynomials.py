"""Polynomials, against NumPy's."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.tensor import ShapeError

POLYNOMIALS: list[Any] = [[1, 2, 3], [1.5], [2, 0, 1, 5], [1, 1j]]


def same(value: Any, expected: Any) -> None:
    assert value.dtype == expected.dtype
    np.testing.assert_allclose(value, expected)


@pytest.mark.parametrize("p", POLYNOMIALS)
@pytest.mark.parametrize("x", [np.arange(4), np.linspace(0, 1, 3), 2, np.float32(3)])
def test_values_are_those_of_numpy(p: Any, x: Any) -> None:
    same(tt.polyval(p, x).eval(mode="VM"), np.polyval(p, x))


@pytest.mark.parametrize("name", ["polyadd", "polysub", "polymul"])
def test_arithmetic_is_that_of_numpy(name: str) -> None:
    pairs = [(a, b) for a in POLYNOMIALS for b in POLYNOMIALS]
    for a, b in pairs:
        same(getattr(tt, name)(a, b).eval(mode="VM"), getattr(np, name)(a, b))


@pytest.mark.parametrize("u", POLYNOMIALS)
@pytest.mark.parametrize("v", POLYNOMIALS)
def test_quotient_times_divisor_plus_remainder_is_the_dividend(u: Any, v: Any) -> None:
    quotient, rest = tt.polydiv(u, v)
    same(quotient.eval(mode="VM"), np.polydiv(u, v)[0])
    whole = tt.polyadd(tt.polymul(quotient, v), rest).eval(mode="VM")
    np.testing.assert_allclose(whole[-len(u) :], u, atol=1e-13)


@pytest.mark.parametrize("p", POLYNOMIALS[:3])
@pytest.mark.parametrize("m", [0, 1, 2])
def test_derivatives_and_integrals_are_those_of_numpy(p: Any, m: int) -> None:
    same(tt.polyder(p, m).eval(mode="VM"), np.polyder(p, m))
    np.testing.assert_allclose(tt.polyint(p, m).eval(mode="VM"), np.polyint(p, m))
    if m:
        np.testing.assert_allclose(tt.polyint(p, m, [3, 4][:m]).eval(mode="VM"), np.polyint(p, m, [3, 4][:m]))


def test_polynomial_of_given_zeros_is_that_of_numpy() -> None:
    same(tt.poly([1, 2.5, -3]).eval(mode="VM"), np.poly([1, 2.5, -3]))


def test_lengths_need_not_be_known_where_nothing_depends_on_them() -> None:
    v = tt.dvector("v")
    p = np.array([1.0, 2.0, 3.0])
    for name in ("polyder", "polyint"):
        np.testing.assert_allclose(getattr(tt, name)(v).eval({v: p}, mode="VM"), getattr(np, name)(p))
    np.testing.assert_allclose(tt.polyadd(v, [1, 2]).eval({v: p}, mode="VM"), np.polyadd(p, [1, 2]))
    np.testing.assert_allclose(tt.polymul(v, [1, 2]).eval({v: p}, mode="VM"), np.polymul(p, [1, 2]))
    np.testing.assert_allclose(tt.polymul(v, v).eval({v: p}, mode="VM"), np.polymul(p, p))
    np.testing.assert_allclose(tt.polyval(v, [[1.5], [-2.0]]).eval({v: p}, mode="VM"), np.polyval(p, [[1.5], [-2.0]]))
    with pytest.raises(ShapeError, match="must be known"):
        tt.polydiv(v, [1, 2])


def test_coefficients_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError, match="coefficients are a vector"):
        tt.polyval(np.ones((2, 2)), 1.0)
    with pytest.raises(ShapeError, match="2 constants"):
        tt.polyint([1.0], 2, [1.0, 2.0][:0])
    with pytest.raises(TypeError, match="polyder: m"):
        tt.polyder([1.0], -1)
