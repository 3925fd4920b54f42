"""Special functions of many numbers at once: kernels for blocks, on all backends and in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import BLOCK_KERNELS, SCALAR_OPS
from treadle.testing import check_kernel

EDGES = [0.0, -0.0, 1.0, 2.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1e-310, 1e308, 0.5, 5.999, 6.0, 1 - 1e-16]
NUMBERS = {
    "gammaln": np.concatenate([EDGES, np.linspace(-7.3, 12, 150), [-2.4570247382208006, 171.6, 1e10]]),
    "digamma": np.concatenate([EDGES, np.linspace(-7.3, 12, 150), [1.4616321449683622, 1e10]]),
    "erfinv": np.concatenate([EDGES, np.linspace(-1, 1, 150), 1 - 10.0 ** -np.arange(3, 16)]),
    "erfcinv": np.concatenate([EDGES, np.linspace(0, 2, 150), 10.0 ** -np.arange(3.0, 300, 20)]),
    "ndtri": np.concatenate([EDGES, np.linspace(0, 1, 150), 10.0 ** -np.arange(3.0, 300, 20)]),
}


def by_scipy(name: str, x: np.ndarray) -> np.ndarray:
    apply: Any = getattr(scipy.special, "psi" if name == "digamma" else name)
    with np.errstate(all="ignore"):
        result: np.ndarray = apply(x)
    return result


@pytest.mark.parametrize("name", NUMBERS)
def test_kernel_is_what_scipy_has_on_all_backends(name: str) -> None:
    kernel = BLOCK_KERNELS.find(SCALAR_OPS[name], "f")
    assert kernel is not None
    # Python raises in place of some infinities; numbers below 1e-200, and what is next to 0, are the next test's.
    wanted = by_scipy(name, NUMBERS[name])
    few = np.isfinite(wanted) & (abs(NUMBERS[name]) > 1e-200) & (abs(wanted) > 1e-3)
    x, wanted = NUMBERS[name][few], wanted[few]
    o = np.zeros_like(x)
    with np.errstate(all="ignore"):
        kernel(len(x), x, o)
        check_kernel(kernel, len(x), x, np.zeros_like(x), rtol=1e-13)
    np.testing.assert_allclose(o, wanted, rtol=1e-13, atol=2e-15)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("mode", ["C", "NUMBA"])
def test_results_do_not_depend_on_positions_and_uses(name: str, mode: str) -> None:
    x = tt.dvector("x")
    values = np.resize(NUMBERS[name], 1000)
    apply: Any = getattr(tt, name)
    outputs = [apply(x), apply(x) + apply(x * 0.5), apply(x.reshape((-1, 5)))[:, 2]]
    plain, twice, column = function([x], outputs, mode=mode)(values)
    # SciPy has infinities at some of these.
    tiny = (values != 0) & (abs(values) < 1e-300)
    np.testing.assert_allclose(plain[~tiny], by_scipy(name, values)[~tiny], rtol=1e-13, atol=2e-15)
    assert not np.isnan(plain[tiny]).any()
    alone = function([x], apply(x), mode=mode)
    np.testing.assert_array_equal(twice, plain + alone(values * 0.5))
    np.testing.assert_array_equal(column, plain[2::5])
    for k in range(0, len(NUMBERS[name]), 9):
        np.testing.assert_array_equal(alone(values[k : k + 1]), plain[k : k + 1])
    finite = values[np.isfinite(plain)]
    results = function([x], [apply(x).sum(), apply(x).max()], mode=mode)(finite)
    every = plain[np.isfinite(plain)]
    np.testing.assert_allclose(results, [every.sum(), every.max()], rtol=1e-12)
