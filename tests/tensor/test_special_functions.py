"""Special functions have the dtypes of SciPy's."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import mpmath
import numpy as np
import pytest
from scipy import special

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor.errors import DtypeError
from treadle.tensor.types.dtype_rules import double_first, single_first

if TYPE_CHECKING:
    from treadle.tensor.types.dtype_rules import DtypeRule, Operand

DTYPES: tuple[Operand, ...] = (*(np.dtype(d) for d in "?bBhHiIlLefd"), int, float)


@pytest.mark.parametrize(
    ("rule", "function"), [(double_first, special.gammaln), (double_first, special.beta), (single_first, special.poch)]
)
def test_dtypes_are_those_of_scipy(rule: DtypeRule, function: np.ufunc) -> None:
    for operands in product(DTYPES, repeat=function.nin):
        assert rule(operands)[1] == function.resolve_dtypes((*operands, None))[-1], operands


def test_complex_operand_is_refused() -> None:
    with pytest.raises(DtypeError, match="does not take operands of dtype complex128"):
        tt.gammaln(tt.zvector())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_incomplete_gamma_functions_stay_in_range_where_the_gamma_function_does_not(dtype: str) -> None:
    k, x = tt.vector("k", dtype=dtype), tt.vector("x", dtype=dtype)
    cases = [(50, 170), (44, 3.5), (50, np.inf), (2.5, 1.25), (0.5, 0.25)]
    cases += [(180, 900)] if dtype == "float64" else []
    values = function([k, x], [tt.gammau(k, x), tt.gammal(k, x)], mode="VM")(*np.array(cases, dtype).T)
    with np.errstate(over="ignore"):
        upper = [np.dtype(dtype).type(mpmath.gammainc(a, b) if np.isfinite(b) else 0) for a, b in cases]
        lower = [np.dtype(dtype).type(mpmath.gammainc(a, 0, b)) for a, b in cases]
    tolerance = 1e-6 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(values[0], upper, rtol=tolerance)
    np.testing.assert_allclose(values[1], lower, rtol=tolerance)
    assert {v.dtype for v in values} == {np.dtype(dtype)}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_trigamma_ends_far_below_zero(dtype: str) -> None:
    x = tt.vector("x", dtype=dtype)
    values = np.array([-768532038938.9569, -1e-10, -3.25, -3.0, -np.inf, 0.0, 2.5, np.inf, np.nan], dtype)
    derivatives = function([x], tt.grad(tt.sum(tt.digamma(x)), x), mode="VM")(values)
    with mpmath.workdps(40):
        far = mpmath.pi**2 / mpmath.sinpi(float(values[0])) ** 2 if dtype == "float64" else np.inf
        expected = [far, *(mpmath.psi(1, float(v)) for v in values[[1, 2, 6]])]
    np.testing.assert_allclose(
        derivatives[[0, 1, 2, 6]], [float(v) for v in expected], rtol=1e-5 if dtype == "float32" else 1e-11
    )
    np.testing.assert_array_equal(derivatives[[3, 4, 5, 7, 8]], [np.inf, np.inf, np.inf, 0.0, np.nan])


def test_derivative_of_exprel_is_not_a_negative_zero_at_minus_infinity() -> None:
    x = tt.dvector("x")
    (derivative,) = function([x], tt.grad(tt.sum(tt.exprel(x)), x), mode="VM")([-np.inf])
    assert (derivative, np.signbit(derivative)) == (0.0, False)


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_logarithms_of_gamma_functions_of_subnormal_numbers_are_finite(mode: str) -> None:
    a, b = tt.dvectors("a", "b")
    values = np.array([5e-324, -1e-310, 1e-308, 0.0])
    whole, of_beta = function([a, b], [tt.gammaln(a), tt.betaln(abs(a), b)], mode=mode)(values, np.full(4, 100.0))
    np.testing.assert_allclose(whole, [744.4400719213812, 713.8013788281542, 709.1962086421661, np.inf], rtol=1e-14)
    np.testing.assert_allclose(of_beta, whole, rtol=1e-14)
    same = function([a], tt.betaln(a, a), mode=mode)([5e-324])
    np.testing.assert_allclose(same, [745.133219101941], rtol=1e-14)


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_polygamma_of_single_precision_is_computed_in_double(mode: str) -> None:
    n, x = tt.fvectors("n", "x")
    values = function([n, x], tt.polygamma(n, x), mode=mode)(
        np.array([20, 20], "float32"), np.array([170, 100], "float32")
    )
    assert values.dtype == "float32"
    np.testing.assert_allclose(values, [-3.17275174e-28, -1.3423501e-23], rtol=1e-6)


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA", "JAX"])
def test_no_derivative_of_digamma_has_an_infinite_order(mode: str) -> None:
    n, x = tt.dvectors("n", "x")
    places = np.array([0.0, -1.0, -2.5, 0.5, 7.0, -np.inf, np.inf])
    values = function([n, x], tt.polygamma(n, x), mode=mode)(np.full(7, np.inf), places)
    assert np.isnan(values).all()


@pytest.mark.parametrize("mode", ["VM", "C"])
def test_polygamma_far_below_0_ends_and_is_exact(mode: str) -> None:
    n, x = tt.dvectors("n", "x")
    orders, places = (1.0, 2.0, 3.0, 5.0), (-1e12 - 0.25, -1e3 - 0.25, -2.3, -1 - 1e-9, -1e-10)
    cases = np.array(list(product(orders, places)))
    values = function([n, x], tt.polygamma(n, x), mode=mode)(*cases.T)
    for (order, at), value in zip(cases, values, strict=True):
        # Of period 1 but for what is beyond, which is small at the first place.
        near = -1e4 - 0.25 if at < -1e6 else at
        wanted = float(mpmath.psi(int(order), mpmath.mpf(near)))
        np.testing.assert_allclose(value, wanted, rtol=1e-4 if at < -1e6 else 1e-11)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64"])
def test_loggamma_has_no_value_below_0(dtype: str) -> None:
    x = tt.tensor("x", dtype=dtype, shape=(None,))
    places = np.array([3, -2, 0, 1, 7, -1], dtype)
    values, wanted = function([x], tt.loggamma(x))(places), special.loggamma(places)
    assert values.dtype == wanted.dtype
    np.testing.assert_allclose(values, wanted, rtol=1e-6)
