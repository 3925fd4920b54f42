"""Named tensors on every backend: they are plain tensors by then, so a few expressions will do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import treadle.named as nm
import treadle.tensor as tt
from tests.named.comparison import ARRAYS, evaluated, variables
from treadle.compile import function
from treadle.config import config


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA", "JAX", "PYTORCH", "FAST_COMPILE", "CVM"])
def test_expressions_give_the_same_on_every_backend(mode: str) -> None:
    inputs = variables()
    x, y, z = inputs["x"], inputs["y"], inputs["z"]
    part = x.isel(a=("q", [1, 0, 1]), c=("q", [0, 3, 3]))
    cost = (nm.math.tanh(x.dot(y)) * z).sum().values
    expressions = [(nm.math.exp(x) * z).mean("b"), x.dot(y), part.set(part * 2), tt.grad(cost, x), x.cumsum("c")]
    arrays = [ARRAYS[n] for n in "xyz"]
    a, b, c = arrays
    exps: Any = np.exp(a)
    inner: Any = 1 - np.tanh(a.dot(b)) ** 2
    changed = a.copy()
    at = {"a": xr.Variable("q", [1, 0, 1]), "c": xr.Variable("q", [0, 3, 3])}
    changed[at] = a.isel(at) * 2
    expected = [(exps * c).mean("b"), a.dot(b), changed, (inner * c).dot(b, dim="d"), a.cumsum("c")]
    with config.change_flags(torch__compile=False):
        values = evaluated(expressions, inputs, mode)
    for value, array in zip(values, expected, strict=True):
        np.testing.assert_allclose(value, array.values, rtol=1e-10)


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA", "JAX", "PYTORCH"])
def test_draws_are_those_of_plain_tensors(mode: str) -> None:
    rng = nm.random.rng("rng", generator="portable")
    mean = nm.xtensor("mean", dims=("a", "b"))
    after, draw = rng.normal(mean, 2.0, extra_dims={"q": 3})
    plain, location = tt.random.rng("plain", generator="portable"), tt.dmatrix("location")
    _, expected = tt.random.normal(location, 2.0, size=(3, 2, 3), rng=plain, return_next_rng=True)
    value = np.arange(6.0).reshape(2, 3)
    generator = tt.random.PortableGenerator(5)
    with config.change_flags(torch__compile=False):
        drawn = function([rng, mean], [draw, after], mode=mode)(generator, value)
    same = function([plain, location], expected, mode="VM")(tt.random.PortableGenerator(5), value)
    np.testing.assert_allclose(drawn[0], same)
