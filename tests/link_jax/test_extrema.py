"""Extrema keep NaN, whatever XLA's own reductions do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations

import jax
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.link.jax import jax_function
from treadle.link.jax.extrema import extremum


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


KINDS = {"max": np.max, "min": np.min}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize(
    "shape", [(1,), (10,), (4095,), (4096,), (100, 100), (1, 5000), (5000, 1), (20, 30, 40), (3, 1001, 2, 2)]
)
def test_extrema_are_those_of_numpy_along_all_axes(shape: tuple[int, ...], kind: str, dtype: str) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    middle = tuple(n // 2 for n in shape)
    arrays = [x, -x]
    for number in (np.nan, -np.nan, np.inf, -np.inf):
        one, all_alike = x.copy(), np.full_like(x, number)
        one[middle] = number
        arrays += [one, all_alike]
    zeros = np.zeros_like(x)
    zeros[middle] = -0.0
    with jax.enable_x64(True):
        for count in range(1, len(shape) + 1):
            for axes in combinations(range(len(shape)), count):
                compiled = jax.jit(partial(extremum, kind, axes=axes))
                for values in [*arrays, zeros]:
                    np.testing.assert_array_equal(compiled(values), KINDS[kind](values, axis=axes))


@pytest.mark.parametrize("axis", [0, 1])
def test_mapped_extrema_of_few_elements_keep_nan_where_all_maps_have_many(axis: int) -> None:
    x = np.random.default_rng(0).normal(size=(200, 100))
    x[3, 4] = np.nan
    largest = jax_function(function([v := tt.dvector()], v.max(), mode="JAX").vm)
    with jax.enable_x64(True):
        (result,) = jax.jit(jax.vmap(largest, in_axes=axis))(x)
    np.testing.assert_array_equal(result, x.max(axis=1 - axis))


def test_derivatives_of_extrema_are_shared_by_equal_elements() -> None:
    x = np.array([[1.0, 2.0, 2.0], [0.0, -1.0, 5.0]])
    with jax.enable_x64(True):
        slope = jax.grad(lambda v: jax.numpy.sum(extremum("max", v, (1,))))(x)
        curvature = np.asarray(jax.hessian(lambda v: extremum("max", v * v, (0, 1)))(x))
        along = jax.jvp(lambda v: extremum("min", v, (0,)), (x,), (np.ones_like(x),))[1]
    np.testing.assert_array_equal(slope, [[0, 0.5, 0.5], [0, 0, 1]])
    assert curvature[1, 2, 1, 2] == 2
    assert np.count_nonzero(curvature) == 1
    np.testing.assert_array_equal(along, np.ones(3))


def sums(x: tt.TensorVariable, y: tt.TensorVariable) -> dict[str, tt.TensorVariable]:
    """Return sums of extrema of which one operand or none is known when the graph is made."""
    return {
        "a number second": tt.maximum(x, 0).sum(),
        "a number first": tt.minimum(0, x).mean(),
        "two arrays": tt.maximum(x, y).sum(),
        "two arrays in the other order": tt.minimum(y, x).sum(axis=0),
        "numbers on both sides": tt.clip(x, -1, 1).sum(),
        "numbers on both sides, along rows": tt.clip(x, -1, 1).sum(axis=1),
        "numbers on both sides, with a transpose between": tt.minimum(tt.maximum(x, 0).T, 6).sum(axis=0),
        "numbers on both sides, with a slice between": tt.minimum(tt.maximum(x, 0)[1:], 6).sum(axis=1),
        "numbers on both sides, the upper one first": tt.maximum(tt.minimum(x, 1), -1).sum(axis=1),
        "a number and an array": tt.clip(x, -1, y).sum(),
        "an array of one number": tt.maximum(tt.zeros_like(y), x).sum(),
        "NaN itself": tt.maximum(y, np.nan).sum(),
        "a function of the extremum": (2 * tt.maximum(1 - x * y, 0) + 1).sum(),
        "largest of extrema": tt.minimum(x, y).max(axis=0).sum(),
        "variance": tt.maximum(x, 0).var(),
    }


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("count", [10, 1000])
def test_sums_of_extrema_are_nan_where_an_element_is(count: int, dtype: str) -> None:
    x, y = (tt.tensor(name, dtype=dtype, shape=(None, None)) for name in "xy")
    expressions = sums(x, y)
    f = function([x, y], list(expressions.values()), mode="JAX")
    a, b = np.random.default_rng(0).uniform(1, 2, size=(2, count, 9)).astype(dtype)
    a[count // 2, 4] = np.nan
    for name, result in zip(expressions, f(a, b), strict=True):
        assert np.isnan(result).any(), name


@pytest.mark.parametrize("kind", [tt.softmax, tt.log_softmax, tt.logsumexp])
@pytest.mark.parametrize("count", [3, 3000])
def test_softmax_beside_nan_and_infinities_is_that_of_the_virtual_machine(
    kind: Callable[..., tt.TensorVariable], count: int
) -> None:
    rows = [[1, 2, np.inf], [np.nan, 1, 2], [np.inf, np.nan, 0], [-np.inf] * 3, [np.inf, np.inf, -np.inf], [3, 4, 5]]
    x = np.tile(np.array(rows, "float64"), (1, count // 3))
    m = tt.dmatrix()
    expected = function([m], kind(m, axis=1), mode="VM")(x)
    result = function([m], kind(m, axis=1), mode="JAX")(x)
    np.testing.assert_allclose(result, expected, rtol=1e-12)
