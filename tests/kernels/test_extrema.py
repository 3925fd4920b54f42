"""Positions of the largest and the smallest elements, beside NumPy's; and the language's functions of extremes."""

from __future__ import annotations

import itertools
from typing import Any, TypeVar

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.kernels import KernelError, kernel
from treadle.kernels.language import OK, Number, Pointer, largest, smallest
from treadle.tensor import TensorType
from treadle.testing import check_kernel

T = TypeVar("T", bound=Number)
DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
)  # fmt: skip
MODES = ("VM", "C", "NUMBA")


@kernel
def extremes(x: Pointer[T], n: int, o: Pointer[T]) -> int:
    """Write the extremes of all numbers, and of all but the first."""
    o[0] = largest(x, n)
    o[1] = smallest(x, n)
    o[2] = largest(x + 1, n - 1)
    o[3] = smallest(x + 1, n - 1)
    return OK


def sample(dtype: str, *shape: int, seed: int = 1) -> np.ndarray[Any, Any]:
    """Return numbers of which many are equal, with the extremes of a dtype."""
    random = np.random.default_rng(seed)
    numbers = random.integers(-7, 8, shape)
    if np.dtype(dtype).kind == "f":
        return np.where(random.random(shape) < 0.1, random.choice([np.inf, -np.inf, -0.0], shape), numbers).astype(
            dtype
        )
    if dtype == "bool":
        return random.random(shape) < 0.1
    info = np.iinfo(dtype)
    edges = random.choice(np.array([info.min, info.max], dtype), shape)
    return np.where(random.random(shape) < 0.1, edges, numbers.astype(dtype)).astype(dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64", "float32", "float64"])
def test_extremes_of_numbers_behind_a_pointer(dtype: str) -> None:
    for n in (2, 3, 17, 100):
        check_kernel(extremes, sample(dtype, n), n, np.zeros(4, dtype))


def test_extremes_of_nan_are_nan() -> None:
    numbers = np.array([np.nan, 1.0, -np.inf, 0.0])
    check_kernel(extremes, numbers, 4, np.zeros(4))
    result = np.zeros(4)
    extremes(numbers, 4, result)
    np.testing.assert_array_equal(result, [np.nan, np.nan, 1, -np.inf])


def test_extremes_of_halves_are_refused() -> None:
    with pytest.raises(KernelError, match="vectors of float16"):
        check_kernel(extremes, np.ones(4, "float16"), 4, np.ones(4, "float16"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_along_every_axis(dtype: str, mode: str) -> None:
    x = TensorType(dtype, (None, None))()
    search = function([x], [f(x, axis=a) for a in (None, 0, 1) for f in (tt.argmax, tt.argmin)], mode=mode)
    # Lines shorter and longer than what is searched on vectors, and of several stretches; columns few and many.
    shapes = [(1, 1), (1, 23), (3, 24), (5, 25), (24, 3), (100, 9), (9, 100), (2, 3000), (600, 7), (7, 600)]
    for seed, shape in enumerate(shapes):
        whole = sample(dtype, *shape, seed=seed)
        long = sample(dtype, 2 * shape[0], 3 * shape[1], seed=seed)
        for numbers in (whole, whole.T, whole[::-1, ::-1], long[::2, ::3], np.broadcast_to(whole[:1], shape)):
            expected = [f(numbers, axis=a) for a in (None, 0, 1) for f in (np.argmax, np.argmin)]
            for result, wanted in zip(search(numbers), expected, strict=True):
                np.testing.assert_array_equal(result, wanted)
                assert result.dtype == "int64"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_first_nan_goes_before_all_numbers(dtype: str, mode: str) -> None:
    x, m = TensorType(dtype, (None,))(), TensorType(dtype, (None, None))()
    search = function([x], [tt.argmax(x), tt.argmin(x)], mode=mode)
    across = function([m], [tt.argmax(m, axis=0), tt.argmin(m, axis=1)], mode=mode)
    for n in (1, 2, 10, 100, 5000):
        for at in {0, n // 2, n - 1}:
            numbers = sample(dtype, n)
            numbers[at:] = np.where(np.arange(n - at) % 3 == 0, np.nan, numbers[at:])
            assert [*search(numbers)] == [at, at]
            assert [*search(numbers[::-1])] == [np.argmax(numbers[::-1]), np.argmin(numbers[::-1])]
            both = np.stack([numbers, numbers[::-1], sample(dtype, n, seed=2)])
            for result, wanted in zip(across(both), (both.argmax(0), both.argmin(1)), strict=True):
                np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("mode", MODES)
def test_zeros_of_both_signs_are_equal(mode: str) -> None:
    x = tt.dvector()
    search = function([x], [tt.argmax(x), tt.argmin(x)], mode=mode)
    for n in (4, 40):
        zeros = np.tile([-0.0, 0.0], n)
        assert [*search(zeros)] == [0, 0]
        assert [*search(zeros[::-1])] == [0, 0]


@pytest.mark.parametrize("mode", MODES)
def test_extremes_at_every_position_of_long_lines(mode: str) -> None:
    x = TensorType("int32", (None,))()
    search = function([x], [tt.argmax(x), tt.argmin(x)], mode=mode)
    for n in (24, 129, 512, 513, 40000):
        numbers = np.zeros(n, "int32")
        for at in {0, 1, n // 3, n - 2, n - 1}:
            numbers[at] = 1
            numbers[n - 1 - at] -= 2
            assert [*search(numbers)] == [numbers.argmax(), numbers.argmin()]
            numbers[:] = 0


@pytest.mark.parametrize("mode", MODES)
def test_several_axes_count_in_c_order(mode: str) -> None:
    numbers = sample("float32", 3, 2, 4, 3, 2, 3)
    for rank, count in ((3, 2), (4, 2), (5, 3), (6, 3), (6, 2)):
        part = numbers[(0,) * (6 - rank)]
        x = TensorType("float32", (None,) * rank)()
        sets = [*itertools.combinations(range(rank), count)][:: 1 if rank < 6 else 3]
        search = function([x], [tt.argmin(x, axis=axes) for axes in sets], mode=mode)
        for numbers_here in (part, part.swapaxes(0, -1)):
            for axes, result in zip(sets, search(numbers_here), strict=True):
                kept = [d for d in range(rank) if d not in axes]
                turned = numbers_here.transpose(*kept, *axes)
                flat = turned.reshape(*turned.shape[: len(kept)], -1)
                np.testing.assert_array_equal(result, flat.argmin(-1), err_msg=str(axes))


@pytest.mark.parametrize("mode", MODES)
def test_axes_of_length_1_are_stepped_over(mode: str) -> None:
    x = TensorType("float64", (None,) * 6)()
    sets = [None, (0, 2, 4), (1, 3, 5), (2, 3, 4, 5), (0, 5)]
    search = function([x], [tt.argmax(x, axis=axes) for axes in sets], mode=mode)
    for shape in ((2, 1, 1, 1, 1, 1), (1, 3, 1, 1, 2, 1), (1, 1, 1, 1, 1, 2), (1, 2, 1, 3, 1, 1)):
        for numbers in (sample("float64", *shape), np.asfortranarray(sample("float64", *shape)[..., ::-1])):
            for axes, result in zip(sets, search(numbers), strict=True):
                reduced = range(6) if axes is None else axes
                kept = [d for d in range(6) if d not in reduced]
                turned = numbers.transpose(*kept, *reduced)
                np.testing.assert_array_equal(result, turned.reshape(*turned.shape[: len(kept)], -1).argmax(-1))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "axis"), [((0,), 0), ((0, 3), 0), ((3, 0), 1), ((0, 0), 1)])
def test_no_elements_have_no_largest(shape: tuple[int, ...], axis: int, mode: str) -> None:
    x = TensorType("float64", (None,) * len(shape))()
    search = function([x], tt.argmax(x, axis=axis), mode=mode)
    with pytest.raises(ValueError, match="empty sequence"):
        search(np.zeros(shape))


@pytest.mark.parametrize("mode", MODES)
def test_no_lines_have_no_positions(mode: str) -> None:
    x, number = tt.dmatrix(), tt.dscalar()
    assert function([x], tt.argmax(x, axis=1), mode=mode)(np.zeros((0, 3))).shape == (0,)
    assert function([x], tt.argmin(x, axis=0), mode=mode)(np.zeros((3, 0))).shape == (0,)
    assert function([number], tt.argmax(number), mode=mode)(2.0) == 0
