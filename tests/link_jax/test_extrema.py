"""Extrema keep NaN, whatever XLA's own reductions do."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.link.jax import jax_function


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("shape", [(2, 3), (20, 300), (300, 20), (3, 7, 400)])
def test_one_nan_among_many_numbers_is_the_extremum(shape: tuple[int, ...], dtype: str) -> None:
    x = tt.tensor("x", dtype=dtype, shape=(None,) * len(shape))
    f = function([x], [x.max(), x.min(), x.max(axis=0), x.min(axis=-1), abs(x).max(axis=-1)], mode="JAX")
    values = np.random.default_rng(0).normal(size=shape).astype(dtype)
    for is_there in (False, True):
        if is_there:
            values[(*(n // 2 for n in shape),)] = np.nan
        wanted = [values.max(), values.min(), values.max(0), values.min(-1), abs(values).max(-1)]
        for result, expected in zip(f(values), wanted, strict=True):
            np.testing.assert_array_equal(result, expected)


def test_the_gradient_of_an_extremum_inside_jax_is_that_of_its_place() -> None:
    x = tt.dmatrix("x")
    largest = jax_function(function([x], x.max(), mode="JAX").vm)
    with jax.enable_x64(True):
        (slope,) = jax.grad(lambda v: jax.numpy.sum(largest(v)[0]), argnums=(0,))(np.array([[1.0, 2.0], [3.0, 0.0]]))
    np.testing.assert_array_equal(slope, [[0, 0], [1, 0]])
