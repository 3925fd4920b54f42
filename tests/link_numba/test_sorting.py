"""Sorting by keys: every dtype, lengths below and above those where the way changes, equal elements and NaN."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_numba.conftest import Link

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


def _values(dtype: str, shape: tuple[int, int]) -> Any:
    random = np.random.default_rng(7)
    if dtype == "bool":
        return random.random(shape) < 0.5
    if dtype in INTEGERS:
        ends = np.iinfo(dtype)
        value = random.integers(ends.min, ends.max, shape, dtype=dtype, endpoint=True)
        if shape[1]:
            # Numbers that agree in their upper halves.
            value[:, ::3] = value[:, :1] // 2 + random.integers(0, 90, value[:, ::3].shape).astype(dtype)
        return value
    value = random.normal(size=shape).astype(dtype)
    if value.size > 10:
        value.flat[::7], value.flat[1::7], value.flat[2::7] = np.nan, 0.0, -0.0
        value.flat[3::11], value.flat[4], value.flat[5] = value.flat[3], np.inf, -np.inf
    return value


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, "float16", "float32", "float64"])
def test_lines_along_either_axis_are_sorted_as_by_numpys_stable_sort(dtype: str, link: Link) -> None:
    x = tt.tensor("x", dtype=dtype, shape=(None, None))
    outputs = [function(x, axis=axis) for axis in (0, 1) for function in (tt.sort, tt.argsort)]
    program = link([x], outputs)
    for shape in ((3, 5), (3, 40), (2, 41), (3, 700), (2, 20_000), (0, 3), (3, 0)):
        value = _values(dtype, shape)
        for layout in (value, np.asfortranarray(value)[:, ::-1]):
            results = iter(program(layout))
            for axis in (0, 1):
                np.testing.assert_array_equal(next(results), np.sort(layout, axis=axis, kind="stable"))
                np.testing.assert_array_equal(next(results), np.argsort(layout, axis=axis, kind="stable"))


def test_many_keys_that_agree_in_their_upper_halves(link: Link) -> None:
    x = tt.lvector("x")
    program = link([x], [tt.argsort(x), tt.sort(x)])
    random = np.random.default_rng(8)
    value = random.integers(0, 3, 9000) * 2**60 + random.integers(0, 2**20, 9000)
    order, ordered = program(value)
    np.testing.assert_array_equal(order, np.argsort(value, kind="stable"))
    np.testing.assert_array_equal(ordered, np.sort(value))
