"""Numbers of short dtypes in graphs of wider ones: what is rounded to the short dtype, and what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, get_mode

MODES = ["VM", "FAST_COMPILE", "FAST_RUN"]
THREE = np.float32(3)


def reciprocals(x: Any) -> list[tuple[Any, float, float]]:
    """Return expressions with the reciprocal of 3 in float32, their values with it, and without rounding."""
    third = tt.reciprocal(tt.constant(THREE))
    one = tt.constant(np.float32(1))
    rounded = float(np.float32(1) / THREE)
    return [
        (x / third, 0.7 / rounded, 0.7 * 3),
        (x * third, 0.7 * rounded, 0.7 / 3),
        (third * x, 0.7 * rounded, 0.7 / 3),
        (x / tt.reciprocal(tt.constant(3, dtype="int8")), 0.7 / rounded, 0.7 * 3),
        (x / (one / tt.constant(THREE)), 0.7 / rounded, 0.7 * 3),
    ]


@pytest.mark.parametrize("mode", MODES)
def test_the_reciprocal_of_a_number_is_rounded_unless_it_is_asked_for_in_the_result_dtype(mode: str) -> None:
    x = tt.dvector("x")
    outs, rounded, wide = zip(*reciprocals(x), strict=True)
    at = np.full(2, 0.7)
    chosen = get_mode(mode).including("wide_numbers")
    np.testing.assert_allclose(np.array(function([x], list(outs), mode=chosen)(at))[:, 0], wide, rtol=1e-15)
    np.testing.assert_allclose(function([x], outs[0], mode=mode)(at)[0], rounded[0], rtol=1e-15)


def test_other_reciprocals_are_rounded_all_the_same() -> None:
    x, y, z = tt.dvector("x"), tt.fscalar("y"), tt.zscalar("z")
    outs = [x * tt.reciprocal(y), z * tt.reciprocal(tt.constant(THREE)), tt.reciprocal(tt.constant(THREE)) + x]
    values = ([0.7, 0.1], THREE, 0.7 + 0.1j)
    asked = function([x, y, z], outs, mode=get_mode("FAST_RUN").including("wide_numbers"))(*values)
    for one, other in zip(asked, function([x, y, z], outs)(*values), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("mode", MODES)
def test_integers_wrap_around_unless_they_are_asked_for_in_the_result_dtype(mode: str) -> None:
    x, i = tt.dvector("x"), tt.lscalar("i")
    a, b = tt.constant(100, dtype="int8"), tt.constant(3, dtype="int8")
    outs = [x / (a * b), x * (a * b), x + (a + a), (a - -a) - x, i * (a * b), x[:, None] * (b * a)]
    wrapped = [0.7 / 44, 0.7 * 44, 0.7 - 56, -56 - 0.7, 132, 0.7 * 44]
    wide = [0.7 / 300, 0.7 * 300, 200.7, 199.3, 900, 0.7 * 300]
    for expected, tags in ((wrapped, ()), (wide, ("wide_numbers",))):
        results = function([x, i], outs, mode=get_mode(mode).including(*tags))([0.7], 3)
        np.testing.assert_allclose([np.asarray(value).item() for value in results], expected, rtol=1e-14)


@pytest.mark.parametrize("mode", MODES)
def test_an_exact_difference_of_numbers_is_one_number_to_stable_forms(mode: str) -> None:
    x = tt.dscalar("x")
    quarter = tt.constant(np.float32(0.25))
    out = x * tt.log(tt.constant(1, dtype="int8") - quarter)
    expected = 2 * float(np.log(np.float32(0.75)))
    assert function([x], out, mode=mode)(2.0) == expected


@pytest.mark.parametrize("mode", MODES)
def test_a_rounded_sum_of_numbers_does_not_hide_a_stable_form(mode: str) -> None:
    x = tt.dscalar("x")
    tiny = tt.constant(1e-20)
    assert function([x], x * tt.log(tt.constant(1.0) + tiny), mode=mode)(2.0) == 2e-20
    assert function([x], x * tt.log(tt.constant(1.0) - tiny), mode=mode)(2.0) == -2e-20


@pytest.mark.parametrize("columns", [1, 2])
def test_numbers_of_a_column_that_is_multiplied_by_its_row_are_rounded(columns: int) -> None:
    """As PyTensor does it, which makes an elementwise product of the former after it has gathered numbers."""
    data, s = np.linspace(0, 4, 14).reshape(-1, columns), tt.dscalar("s")
    scaled = tt.constant(data) * (1.0 / tt.constant(THREE))
    out = (tt.dot(scaled, scaled.T) * s).sum()
    factor = float(1 / THREE) if columns == 1 else 1 / 3
    value = function([s], out, mode=get_mode("FAST_RUN").including("wide_numbers"))(0.7)
    np.testing.assert_allclose(value, 0.7 * ((data * factor) @ (data * factor).T).sum(), rtol=1e-14)
