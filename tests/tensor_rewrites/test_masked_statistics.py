"""Functions of arrays with masks, zeros, infinities and lengths 0 and 1: with rewriting they are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import rewrite, run

SHAPES = [(3, 1), (1, 3), (3, 2), (1, 1), (2, 0)]


def functions(m: Any, x: Any, w: Any, n: Any) -> dict[str, Any]:
    """Return expressions, by NumPy's or our functions, of a matrix, a mask and a number, which may be 0."""
    masked = m.where(w, x, 0.0)
    return {
        **{f"mean {axis}": m.mean(x, axis=axis, where=w) for axis in (0, 1, None)},
        **{f"var {axis}": m.var(x, axis=axis, where=w) for axis in (0, 1, None)},
        **{f"std {axis}": m.std(x, axis=axis, where=w) for axis in (0, 1)},
        **{f"sum {axis}": m.sum(x, axis=axis, where=w) for axis in (0, 1)},
        **{f"nanmean {axis}": m.nanmean(m.where(w, x, np.nan), axis=axis) for axis in (0, 1)},
        **{f"nansum {axis}": m.nansum(m.where(w, x, np.nan), axis=axis) for axis in (0, 1)},
        **{f"nanvar {axis}": m.nanvar(m.where(w, x, np.nan), axis=axis) for axis in (0, 1)},
        **{f"norm {axis}": m.linalg.norm(masked, axis=axis) for axis in (0, 1)},
        "mean": m.mean(masked, axis=1),
        "quotient": masked / n,
        "other branch": m.where(w, 0.0, x) / n,
        "quotient of rows": masked / x[:, :1].sum(0),
        "normalised": masked / m.sum(masked, axis=1, keepdims=True),
        "normalised by norm": masked / m.linalg.norm(masked, axis=1, keepdims=True),
        "quotient of sums": m.sum(masked, axis=1) / m.sum(w, axis=1),
        "quotient of counts": masked / m.sum(w, axis=1, keepdims=True),
        "remainder": m.mod(masked, n),
        "abs over itself": masked / abs(m.where(w, x, 1.0)),
    }


def _softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize("is_static", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom", "ignore:invalid value")
def test_masks_and_divisors_of_zero_are_what_numpy_makes_of_them(shape: tuple[int, int], is_static: bool) -> None:
    known = shape if is_static else (None, None)
    x, w = tt.tensor("x", dtype="float64", shape=known), tt.tensor("w", dtype="bool", shape=known)
    n = tt.dscalar("n")
    expressions = functions(tt, x, w, n)
    fgraph, _ = rewrite([x, w, n], list(expressions.values()))
    rng = np.random.default_rng(0)
    for special in (1.0, 0.0, np.inf, np.nan):
        value = rng.normal(size=shape)
        value.flat[:1] = special
        for mask in (np.zeros(shape, bool), np.ones(shape, bool), rng.random(shape) < 0.5):
            for number in (0.0, 2.0):
                with np.errstate(all="ignore"):
                    wanted = functions(np, value, mask, number)
                    results = run(fgraph, [value, mask, np.array(number)])
                for (name, old), new in zip(wanted.items(), results, strict=True):
                    np.testing.assert_allclose(new, old, rtol=1e-12, atol=1e-14, err_msg=f"{name} {value} {mask}")


def test_average_cov_and_softmax_of_masks_are_what_they_are_without_rules() -> None:
    x = tt.tensor("x", dtype="float64", shape=(3, 1))
    w = tt.tensor("w", dtype="bool", shape=(3, 1))
    masked = tt.where(w, x, 0.0)
    outputs = [tt.average(masked, axis=1, weights=masked), tt.softmax(masked, axis=1), tt.cov(masked.T)]
    fgraph, _ = rewrite([x, w], outputs)
    value, mask = np.array([[1.0], [5.0], [0.0]]), np.array([[True], [False], [True]])
    with np.errstate(all="ignore"):
        average, soft, cov = run(fgraph, [value, mask])
        wanted = np.where(mask, value, 0.0)
        # Weights whose sum is 0 give NaN or an infinity.
        np.testing.assert_array_equal(np.isfinite(average), [True, False, False])
        np.testing.assert_allclose(soft, _softmax(wanted, 1))
        np.testing.assert_allclose(cov, np.cov(wanted.T))
