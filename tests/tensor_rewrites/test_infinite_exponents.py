"""Stable forms of logarithms and exponentials at infinite exponents: NumPy's values of the plain form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function

SPECIAL = np.array([-np.inf, np.inf, -1.0, 0.0, 2.0, np.nan])


def forms(m: Any, x: Any, y: Any) -> dict[str, Any]:
    """Return expressions that rules write in stable forms, of NumPy's or our functions."""
    e, log, log1p = m.exp, m.log, m.log1p
    pair = m.stack([x, y])
    total = e(pair).sum(0)
    return {
        "log of difference": log(e(x) - e(y)),
        "log of nested difference": log(e(x - y) - e(y)),
        "log of sum": log(e(x) + e(y)),
        "log of sum of three": log(e(x) + 2 * e(y) + 1),
        "logaddexp": m.logaddexp(x, y),
        "log of sum along an axis": log(total),
        "log of mean": log(e(pair).mean(0)),
        "log of twice a sum": log(total * 2),
        "log_softmax": x - log(total),
        "quotient by sum": e(x) / (e(x) + e(y)),
        "softmax": e(pair)[0] / total,
        "log of product": log(abs(x) * e(y)),
        "log of quotient": log(abs(x) / e(y)),
        "log of one plus": log(1 + e(x)),
        "log of one minus": log(1 - e(x)),
        "log of expm1": log(m.expm1(x)),
        "log of minus expm1": log(-m.expm1(x)),
        "log1p": log1p(e(x)),
        "log1p of minus": log1p(-e(x)),
        "log of sigmoid": log(1 / (1 + e(-x))),
        "log of the other sigmoid": log(1 - 1 / (1 + e(-x))),
    }


@pytest.mark.parametrize("mode", ["VM", "C", "FAST_COMPILE"])
def test_stable_forms_at_infinite_exponents_are_what_numpy_makes_of_the_plain_ones(mode: str) -> None:
    x, y = tt.dvectors("x", "y")
    arguments = [part.ravel() for part in np.meshgrid(SPECIAL, SPECIAL)]
    with np.errstate(all="ignore"):
        wanted = forms(np, *arguments)
    results = function([x, y], list(forms(tt, x, y).values()), mode=mode)(*arguments)
    for (name, old), new in zip(wanted.items(), results, strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-12, equal_nan=True, err_msg=name)


def test_log_of_a_difference_of_float32_exponentials_keeps_its_dtype() -> None:
    x, y = tt.fvectors("x", "y")
    arguments = np.array([-np.inf, 0, 90], "float32"), np.array([-np.inf, -np.inf, 89], "float32")
    result = function([x, y], tt.log(tt.exp(x) - tt.exp(y)), mode="VM")(*arguments)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, [-np.inf, 0, 90 + np.log1p(-np.exp(-1))], rtol=1e-6)
