"""Quotients and remainders of integers, which C and Numba compute by way of floats in loops, beside NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor import TensorType

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
MODES = ("VM", "C", "NUMBA")


def edges(dtype: str) -> np.ndarray[Any, Any]:
    """Return 0, the extremes, and what lies beside powers of two, of both signs."""
    info = np.iinfo(dtype)
    beside = [s * 2**k + d for k in range(info.bits) for d in (-1, 0, 1) for s in (1, -1)]
    more = [0, info.min, info.min + 1, info.max, info.max - 1, 7, 10, 1000003, 3037000499]
    return np.array(sorted({n for n in (*beside, *more) if info.min <= n <= info.max}), dtype)


def check(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], results: Any) -> None:
    with np.errstate(all="ignore"):
        for name, result, expected in zip(("quotient", "remainder"), results, (x // y, x % y), strict=True):
            np.testing.assert_array_equal(result, expected, err_msg=name)
            assert result.dtype == expected.dtype


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_edge_is_divided_by_every_other(dtype: str, mode: str) -> None:
    x, y = (TensorType(dtype, (None, None))() for _ in range(2))
    divide = function([x, y], [x // y, x % y], mode=mode)
    numbers = np.arange(256).astype(dtype) if np.iinfo(dtype).bits == 8 else edges(dtype)
    column, row = numbers[:, None], numbers[None, :]
    check(column, row, divide(column, row))
    square = np.ascontiguousarray(np.broadcast_to(column, (len(numbers), len(numbers))))
    check(square, square.T, divide(square, square.T))
    check(square[::-1, ::-2], row[:, ::-2], divide(square[::-1, ::-2], row[:, ::-2]))
    check(square[:0], row, divide(square[:0], row))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_random_numbers_are_divided_by_one_and_by_many(dtype: str, mode: str) -> None:
    info = np.iinfo(dtype)
    x, y, k = TensorType(dtype, (None,))(), TensorType(dtype, (None,))(), TensorType(dtype, ())()
    divide = function([x, y], [x // y, x % y], mode=mode)
    by_one = function([x, k], [x // k, x % k], mode=mode)
    of_one = function([k, x], [k // x, k % x], mode=mode)
    random = np.random.default_rng(3)
    # Of all lengths in bits, and products with what is near them.
    for count in (1, 3, 1003):
        bits = random.integers(0, 2**64, (3, count), dtype="uint64") >> random.integers(0, 64, (3, count)).astype(
            "uint64"
        )
        first, second, third = bits.astype(dtype)
        products = (first * second + random.integers(0, 3, count).astype(dtype) - np.asarray(1, dtype)).astype(dtype)
        for numbers in (third, products):
            check(numbers, second, divide(numbers, second))
    every = np.concatenate([products, edges(dtype)])
    for divisor in {0, 1, 2, 3, 7, 10, 100, info.max, info.max - 1, info.min, *([-1, -2, -3, -7] if info.min else [])}:
        number = np.asarray(divisor, dtype)
        check(every, number, by_one(every, number))
        check(number, every, of_one(number, every))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("divisor", [0, 1, -1, 2, -2, 7, -7, 8, 1000])
@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_constant_divisors_in_fused_loops_and_sums(dtype: str, divisor: int, mode: str) -> None:
    x = TensorType(dtype, (None,))()
    constant = np.asarray(divisor, dtype)
    rest = (x + np.asarray(1, dtype)) % constant
    divide = function([x], [x // constant, rest, tt.sum(rest), x[::-2] // constant], mode=mode)
    numbers = edges(dtype)
    with np.errstate(all="ignore"):
        expected = (numbers + np.asarray(1, dtype)) % constant
        results = divide(numbers)
        np.testing.assert_array_equal(results[0], numbers // constant)
        np.testing.assert_array_equal(results[1], expected)
        np.testing.assert_array_equal(results[2], expected.sum())
        np.testing.assert_array_equal(results[3], numbers[::-2] // constant)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_single_numbers_are_divided_as_those_of_arrays(dtype: str, mode: str) -> None:
    x, y = (TensorType(dtype, ())() for _ in range(2))
    divide = function([x, y], [x // y, x % y], mode=mode)
    info = np.iinfo(dtype)
    for a in {info.min, info.max, 0, 1, 7, 100}:
        for b in {info.min, info.max, 0, 1, 7, *([-1, -3] if info.min else [])}:
            first, second = np.asarray(a, dtype), np.asarray(b, dtype)
            check(first, second, divide(first, second))
