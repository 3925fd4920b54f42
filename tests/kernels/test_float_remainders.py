"""Quotients and remainders of floats, to the bit as NumPy has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import TensorType

MODES = ("VM", "C", "NUMBA")


def check(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any], results: Any) -> None:
    with np.errstate(all="ignore"):
        expected = (first // second, first % second)
    for name, result, wanted in zip(("quotient", "remainder"), results, expected, strict=True):
        np.testing.assert_array_equal(result, wanted, err_msg=name)
        there = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(result)[there], np.signbit(wanted)[there], err_msg=name)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainders_of_numbers_of_all_sizes(dtype: str, mode: str) -> None:
    x, y = (TensorType(dtype, (None,))() for _ in range(2))
    divide = function([x, y], [x // y, x % y], mode=mode)
    random = np.random.default_rng(5)
    bits = 8 * np.dtype(dtype).itemsize
    first, second = random.integers(0, 2**bits, (2, 20001), dtype=f"uint{bits}").view(dtype)
    check(first, second, divide(first, second))
    # Quotients near integers, exact ones, and those of more bits than a number has.
    wide = (random.normal(size=20001) * 10.0 ** random.integers(-3, 20, 20001)).astype(dtype)
    narrow = np.where(random.random(20001) < 0.5, 0.1, random.integers(-9, 10, 20001)).astype(dtype)
    products = (narrow * random.integers(-1000, 1000, 20001)).astype(dtype)
    for numbers in (wide, products, np.nextafter(products, np.asarray(np.inf, dtype))):
        check(numbers, narrow, divide(numbers, narrow))
    check(wide[::-2], narrow[::2], divide(wide[::-2], narrow[::2]))
    check(wide[:0], narrow[:0], divide(wide[:0], narrow[:0]))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_remainders_of_special_numbers(dtype: str, mode: str) -> None:
    x, y = (TensorType(dtype, (None, None))() for _ in range(2))
    divide = function([x, y], [x // y, x % y], mode=mode)
    info = np.finfo(dtype)
    sizes: list[Any] = [
        0.0,
        1.0,
        1.5,
        3.0,
        np.inf,
        info.max,
        info.tiny,
        info.smallest_subnormal,
        3 * info.smallest_subnormal,
    ]
    numbers = np.array([*sizes, *(-s for s in sizes), np.nan], dtype)
    check(numbers[:, None], numbers[None, :], divide(numbers[:, None], numbers[None, :]))


@pytest.mark.parametrize("mode", MODES)
def test_single_floats_have_the_remainders_of_arrays(mode: str) -> None:
    x, y = tt.dscalar(), tt.dscalar()
    divide = function([x, y], [x // y, x % y], mode=mode)
    for first, second in (
        (7.0, 2.0),
        (-7.0, 2.0),
        (7.0, -np.inf),
        (-0.0, 3.0),
        (1e300, 1e-300),
        (0.3, 0.1),
        (5.0, 0.0),
    ):
        check(np.asarray(first), np.asarray(second), divide(first, second))
