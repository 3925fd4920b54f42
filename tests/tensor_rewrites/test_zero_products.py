"""Products with a constant zero where a factor is infinite or NaN, with and without the tag that asks for zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, get_mode

MODES = ["VM", "FAST_COMPILE", "FAST_RUN", "C"]


def computed(inputs: list[Any], out: Any, values: list[Any], mode: str, *tags: str) -> np.ndarray:
    return np.asarray(function(inputs, out, mode=get_mode(mode).including(*tags))(*values))


@pytest.mark.parametrize("mode", MODES)
def test_products_with_zero_are_zero_where_that_is_asked_for(mode: str) -> None:
    x, c = tt.dvector("x"), tt.zvector("c")
    values = np.array([np.inf, -np.inf, np.nan, 2.0])
    for out in (x * 0.0, 0.0 * tt.exp(x), 0.0 / x, tt.zeros(4) * tt.log(x), (x * 0).astype("float32")):
        np.testing.assert_array_equal(abs(computed([x], out, [values], mode, "zero_products")), np.zeros(4))
        if mode != "C":
            assert np.isnan(computed([x], out, [np.zeros(4) * np.nan], mode)).all()
    assert (computed([c], c * 0.0, [values.astype(complex)], mode, "zero_products") == 0).all()


@pytest.mark.parametrize("mode", MODES)
def test_the_gradient_of_a_distribution_that_ends_at_its_lower_bound(mode: str) -> None:
    x = tt.dscalar("x")
    gradient = tt.grad(tt.exp(tt.log1mexp(-x * 0.0)), x)
    assert np.isnan(computed([x], gradient, [1.0], mode))
    assert computed([x], gradient, [1.0], mode, "zero_products") == 0


@pytest.mark.parametrize("tag", ["canonicalize", "stabilize", "specialize", "not_ieee", "arithmetic"])
def test_other_tags_do_not_ask_for_it(tag: str) -> None:
    x = tt.dvector("x")
    assert np.isnan(computed([x], x * 0.0, [np.array([np.inf])], "FAST_COMPILE", tag)).all()


def test_strict_arithmetic_leaves_it_out() -> None:
    x = tt.dvector("x")
    assert np.isnan(computed([x], x * 0.0, [np.array([np.inf])], "VM", "zero_products", "strict_ieee")).all()
