"""Axes, shapes and dtypes in every spelling that NumPy takes, at random, against NumPy's values on the VM."""

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.tensor
from treadle.compile import function

SEED = int(os.environ.get("TREADLE_GOOD_CALLS_SEED", "0"))
COUNT = int(os.environ.get("TREADLE_GOOD_CALLS", "3000"))

# The spellings are NumPy's, whatever the types say.
tt: Any = treadle.tensor
NP: Any = np

# Each makes another spelling of one integer, of several, and of a dtype.
ONE: list[Callable[[Any], Any]] = [int, np.int64, np.int8, np.array, tt.constant]
SEVERAL: list[Callable[[Any], Any]] = [
    tuple,
    list,
    np.array,
    lambda numbers: [np.array(n) for n in numbers],
    lambda numbers: tuple(map(np.int32, numbers)),
]
LENGTHS: list[Callable[[Any], Any]] = [
    *SEVERAL,
    lambda numbers: list(map(tt.constant, numbers)),
    lambda numbers: tt.constant(list(numbers)),
]
DTYPES: list[Callable[[str], Any]] = [str, np.dtype, lambda name: np.dtype(name).type]
NAMES = ("float32", "int64", "float64", "bool", "int8", "complex128")

# The expression for NumPy and for treadle, and what is passed to both.
Call = tuple[Callable[[Any, Any], Any], Any, Any]


def along_an_axis(rng: random.Random, ndim: int) -> Call:
    name = rng.choice(("sum", "prod", "all", "any", "mean", "argmax", "argmin", "concatenate", "take"))
    axis, keepdims = rng.randrange(-ndim, ndim), rng.choice((True, False))

    def call(x: Any, axis: Any) -> Any:
        library = np if isinstance(x, np.ndarray) else tt
        if name == "concatenate":
            return library.concatenate([x, x], axis=axis)
        if name == "take":
            return library.take(x, [0, -1], axis=axis)
        return getattr(library, name)(x, axis=axis, keepdims=keepdims)

    return call, axis, rng.choice(ONE)(axis)


def along_axes(rng: random.Random, ndim: int) -> Call:
    axes = tuple(rng.choice((d, d - ndim)) for d in rng.sample(range(ndim), rng.randint(1, ndim)))
    return lambda x, axes: x.sum(axis=axes), axes, rng.choice(SEVERAL)(axes)


def with_new_axes(rng: random.Random, ndim: int) -> Call:
    axes = tuple(rng.sample(range(ndim + 2), 2))
    return NP.expand_dims, axes, rng.choice(SEVERAL)(axes)


def permuted(rng: random.Random, ndim: int) -> Call:
    order = rng.sample(range(ndim), ndim)
    argument = rng.choice(SEVERAL)(order)
    return lambda x, order: x.transpose(order), order, argument


def reshaped(rng: random.Random, ndim: int) -> Call:
    shape = rng.choice([(-1,), (1, -1), (-1, 1, 1)])
    del ndim
    return lambda x, shape: x.reshape(shape), shape, rng.choice(LENGTHS)(shape)


def filled(rng: random.Random, ndim: int) -> Call:
    shape, name = tuple(rng.randint(0, 3) for _ in range(ndim)), rng.choice(NAMES)
    dtype = rng.choice(DTYPES)(name)

    def call(x: Any, shape: Any) -> Any:
        return np.full(shape, 1, name) if isinstance(x, np.ndarray) else tt.full(shape, 1, dtype)

    return call, shape, rng.choice(LENGTHS)(shape)


def converted(rng: random.Random, ndim: int) -> Call:
    del ndim
    name = rng.choice(NAMES)
    return lambda x, dtype: x.astype(dtype), name, rng.choice(DTYPES)(name)


KINDS = (along_an_axis, along_axes, with_new_axes, permuted, reshaped, filled, converted)


def check(rng: random.Random) -> None:
    ndim = rng.randint(1, 3)
    shape = tuple(rng.randint(1, 3) for _ in range(ndim))
    value = (np.random.default_rng(rng.randrange(100)).normal(size=shape) * 3).astype(rng.choice(NAMES[:5]))
    call, plain, argument = rng.choice(KINDS)(rng, ndim)
    expected = np.asarray(call(value, plain))
    x = tt.tensor("x", dtype=value.dtype, shape=rng.choice((shape, (None,) * ndim)))
    variable = call(x, argument)
    result = function([x], variable, mode="VM", on_unused_input="ignore")(value)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape), (call, argument)
    assert all(n in {None, m} for n, m in zip(variable.type.shape, result.shape, strict=True)), (call, argument)
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_random_spellings_give_what_numpy_gives() -> None:
    rng = random.Random(1)
    for _ in range(60):
        check(rng)


@pytest.mark.slow
def test_many_random_spellings_give_what_numpy_gives() -> None:
    rng = random.Random(SEED)
    for _ in range(COUNT):
        check(rng)
