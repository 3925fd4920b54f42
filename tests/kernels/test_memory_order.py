"""Loops in the order of their operands' memory, which only calls tell: reductions, elementwise functions, copies."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function

if TYPE_CHECKING:
    from collections.abc import Sequence

MODES = ("C", "NUMBA")
AXES: tuple[Any, ...] = (None, 0, 1, 2, (0, 1), (0, 2), (1, 2))


def sample(dtype: str, shape: Sequence[int], seed: int = 0) -> Any:
    numbers = np.random.default_rng(seed).normal(0, 30, tuple(shape))
    return (numbers > 0 if dtype == "bool" else numbers).astype(dtype)


def cube(dtype: str = "float64") -> tt.TensorVariable:
    return tt.tensor("x", dtype=dtype, shape=(None, None, None))


def layouts(x: Any) -> list[Any]:
    """Return the same numbers with the dimensions in any order in memory, and some walked backwards or with gaps."""
    orders = permutations(range(x.ndim))
    found = [np.ascontiguousarray(x.transpose(o)).transpose(np.argsort(o)) for o in orders]
    wide = np.zeros([2 * n for n in x.shape], x.dtype).T
    gaps = wide.T[tuple(slice(None, None, 2) for _ in x.shape)]
    gaps[...] = x
    return [*found, *(np.asfortranarray(x[s])[s] for s in (np.s_[::-1], np.s_[:, ::-1])), gaps]


@pytest.mark.parametrize("mode", MODES)
def test_sums_of_a_transposed_argument_are_those_of_the_matrix_to_the_last_bit(mode: str) -> None:
    x = tt.matrix("x", dtype="float64")
    numbers = sample("float64", (300, 700))
    for e in (x, x * x, tt.abs(x) + 1):
        f = function([x], [e.sum(), e.sum(axis=0), e.sum(axis=1)], mode=mode)
        whole, columns, rows = f(numbers)
        turned = f(np.ascontiguousarray(numbers.T).T)
        # By columns, what follows the order of memory is a sum of rows: other roundings than those of columns.
        assert turned[0].tobytes() == f(np.ascontiguousarray(numbers.T))[0].tobytes()
        np.testing.assert_allclose(turned[1], columns, rtol=1e-12)
        np.testing.assert_allclose(turned[2], rows, rtol=1e-12)
        np.testing.assert_allclose(turned[0], whole, rtol=1e-12)


def test_sums_of_permuted_arguments_are_those_of_what_lies_in_memory_to_the_last_bit() -> None:
    x = cube()
    numbers = sample("float64", (50, 60, 70))
    f = function([x], [x.sum(axis=a) for a in (0, 1, 2)], mode="C")
    kept = f(numbers)
    for order in permutations(range(3)):
        for axis, result in enumerate(f(numbers.transpose(order))):
            same = kept[order[axis]]
            left = [d for d in order if d != order[axis]]
            same = same if left == sorted(left) else same.T
            assert result.tobytes() == same.tobytes(), (order, axis)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128", "int8", "uint64", "bool"])
def test_reductions_of_any_layout(mode: str, dtype: str) -> None:
    x, y = cube(dtype), tt.tensor("y", dtype=dtype, shape=(None, None))
    kinds = (tt.sum, tt.prod) if dtype == "complex128" else (tt.sum, tt.max, tt.min)
    reduced = [f(x, axis=a) for f in kinds for a in AXES]
    reduced += [(x * y).sum(axis=a) for a in AXES]
    f = function([x, y], reduced, mode=mode)
    for shape in ((3, 4, 5), (20, 1, 33), (2, 300, 3), (1, 1, 7)):
        numbers, others = sample(dtype, shape), sample(dtype, shape[1:], 1)
        if kinds[-1] is tt.prod:
            numbers = numbers / abs(numbers)
        expected: list[Any] = [getattr(np, k.__name__.strip("_"))(numbers, axis=a) for k in kinds for a in AXES]
        expected += [(numbers * others).sum(axis=a) for a in AXES]
        digits = {"float16": 2e-2, "float32": 1e-4}.get(dtype, 1e-9)
        near = digits * float(np.abs(numbers).max()) if numbers.dtype.kind in "fc" else 0
        for layout in layouts(numbers):
            for result, wanted in zip(f(layout, np.asfortranarray(others)), expected, strict=True):
                assert result.shape == wanted.shape
                np.testing.assert_allclose(result, wanted, rtol=digits, atol=near)


@pytest.mark.parametrize("mode", MODES)
def test_sums_over_nothing_in_any_layout(mode: str) -> None:
    x = cube()
    f = function([x], [e.sum(axis=a) for e in (x, x * x) for a in AXES], mode=mode)
    for shape in ((4, 0, 3), (0, 2, 5), (2, 3, 0)):
        for layout in layouts(np.zeros(shape)):
            for axis, *results in zip(AXES * 2, f(layout), strict=True):
                np.testing.assert_array_equal(results[0], np.zeros(shape).sum(axis=axis))


@pytest.mark.parametrize("mode", MODES)
def test_results_beside_a_reduction_keep_the_order_of_their_own(mode: str) -> None:
    x = cube()
    squares = x * x
    numbers = sample("float64", (9, 40, 30))
    for axis in AXES:
        f = function([x], [squares, squares.sum(axis=axis), squares.max(axis=axis)], mode=mode)
        for layout in layouts(numbers):
            results = f(layout)
            for result, wanted in zip(
                results, (numbers**2, (numbers**2).sum(axis), (numbers**2).max(axis)), strict=True
            ):
                np.testing.assert_allclose(result, wanted, rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128", "int8", "int16"])
def test_elementwise_functions_of_any_layout(mode: str, dtype: str) -> None:
    x, y = cube(dtype), cube(dtype)
    f = function([x, y], [x + y, tt.ravel(x), y.transpose(2, 0, 1) - x.transpose(2, 0, 1)], mode=mode)
    # Around the lengths of tiles, and of what is left of them.
    shapes = (3, 4, 5), (1, 8, 16), (7, 17, 16), (23, 2, 129), (24, 130, 3), (41, 1, 300), (8, 31, 33), (0, 9, 20)
    for shape in shapes:
        numbers, others = sample(dtype, shape), sample(dtype, shape, 1)
        expected = numbers + others, numbers.ravel(), (others - numbers).transpose(2, 0, 1)
        for first in layouts(numbers):
            for second in (others, np.asfortranarray(others)):
                for result, wanted in zip(f(first, second), expected, strict=True):
                    np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("mode", MODES)
def test_operands_in_many_orders_at_once(mode: str) -> None:
    xs = [tt.matrix(f"x{k}", dtype="float64") for k in range(12)]
    total = xs[0]
    for k, x in enumerate(xs[1:]):
        total = total + x if k % 3 else total * x
    f = function(xs, [total, tt.exp(xs[0].T), total.sum(axis=0)], mode=mode)
    numbers = [sample("float64", (60, 150), k) / 50 for k in range(12)]
    wanted = numbers[0]
    for k, x in enumerate(numbers[1:]):
        wanted = wanted + x if k % 3 else wanted * x
    for orders in (["C"] * 12, ["F"] * 12, ["F", "C"] * 6, ["F", "C", "C"] * 4):
        values = [np.array(x, order=order) for x, order in zip(numbers, orders, strict=True)]  # type: ignore[call-overload]  # any order
        results = f(*values)
        np.testing.assert_allclose(results[0], wanted, rtol=1e-12)
        np.testing.assert_allclose(results[1], np.exp(numbers[0].T), rtol=1e-12)
        np.testing.assert_allclose(results[2], wanted.sum(axis=0), rtol=1e-10)


@pytest.mark.parametrize("mode", MODES)
def test_a_matrix_and_its_transpose_in_one_buffer(mode: str) -> None:
    x = tt.matrix("x", dtype="float64")
    y = x * 2
    f = function([x], y + tt.exp(y.T), mode=mode)
    numbers = sample("float64", (70, 70)) / 50
    for layout in (numbers, np.asfortranarray(numbers)):
        np.testing.assert_allclose(f(layout), 2 * numbers + np.exp(2 * numbers.T), rtol=1e-12)
