"""Kernels of sorting where NumPy's own functions cannot be called: keys sorted by digits give what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.graph import vectorize_graph
from treadle.tensor.lower_kernels.sorting.keys import order_keys
from treadle.tensor.lower_kernels.sorting.sorting import pick_keys, select_room
from treadle.testing import check_kernel, compiled_kernel

KINDS = ["int16", "uint16", "float16", "int32", "uint32", "float32", "int64", "uint64", "float64"]


def _values(dtype: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(count)
    x = (rng.normal(size=count) * 1000).astype("int64").astype(dtype)
    if dtype[0] == "f":
        x[:: max(count // 7, 1)] = np.nan
        x[1 :: max(count // 5, 1)] = -0.0
        x[2 :: max(count // 6, 1)] = -np.inf
    return x


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_float16_with_nan_is_in_order(mode: str) -> None:
    x = tt.tensor(dtype="float16", shape=(None,))
    sort = function([x], [tt.sort(x), tt.OrderStatistics(0)(x, [700, 1500])], mode=mode)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        value = (rng.normal(size=int(rng.integers(2000, 20_000))) * 300).astype("float16")
        value[rng.integers(len(value), size=len(value) // 10)] = np.nan
        ordered, picked = sort(value)
        expected = np.sort(value.astype("float64")).astype("float16")
        np.testing.assert_array_equal(ordered, expected)
        np.testing.assert_array_equal(picked, expected[[700, 1500]])


@pytest.mark.parametrize("dtype", KINDS)
def test_keys_are_sorted_where_numpy_has_no_function(
    dtype: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr("treadle.link.c.loading.sorts_table", lambda: 0)
    x = tt.tensor(dtype=dtype, shape=(None,))
    with config.change_flags(compiledir=tmp_path_factory.getbasetemp() / "sorting"):
        sort = function([x], tt.sort(x), mode="C")
        for count in (0, 5, 24, 25, 300, 5000):
            value = _values(dtype, count)
            np.testing.assert_array_equal(sort(value), np.sort(value, kind="stable"))


@pytest.mark.parametrize("spread", [1, 40, 2**62])
def test_positions_by_keys_are_the_same_everywhere(spread: int) -> None:
    count = 45
    keys = np.random.default_rng(0).integers(0, spread, count, endpoint=True).astype("uint64") * np.uint64(3)
    room = np.concatenate([keys, np.zeros(2 * count, "uint64")])
    check_kernel(order_keys, room, count, np.zeros(count, "int64"))


@pytest.mark.parametrize("mode", ["C", "NUMBA"])
@pytest.mark.parametrize("spread", [0, 1, 900, 2**62])
def test_keys_at_positions_are_those_of_the_sorted_keys(spread: int, mode: str) -> None:
    count, at = 3000, np.array([0, 2999, 1500, 1501, 7])
    keys = np.random.default_rng(1).integers(0, spread, count, endpoint=True).astype("uint64") * np.uint64(3)
    room = np.concatenate([keys, np.zeros(select_room(count) - count, "uint64")])
    _, (_, found) = compiled_kernel(pick_keys, room, count, at, np.zeros(5, "uint64"), mode=mode)
    np.testing.assert_array_equal(found, np.sort(keys)[at])


@pytest.mark.parametrize("mode", ["C", "NUMBA", "JAX", "PYTORCH"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_partition_keeps_the_order_on_each_side_on_all_backends(dtype: str, mode: str) -> None:
    x, k = tt.tensor(dtype=dtype, shape=(None, None)), tt.lscalar()
    outputs = [tt.partition(x, k), tt.argpartition(x, k)]
    split, plain = function([x, k], outputs, mode=mode), function([x, k], outputs, mode="VM")
    numbers = np.random.default_rng(2).integers(-3, 4, (4, 200)).astype(dtype)
    if dtype != "int64":
        numbers[:3][numbers[:3] == 2] = np.nan
        numbers[numbers == 0] = -0.0
        numbers[:, ::3] = abs(numbers[:, ::3])
    for at in (0, 70, 110, -30, 199):
        found, wanted = split(numbers, at), plain(numbers, at)
        for y, z in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(y, z)
        np.testing.assert_array_equal(np.signbit(found[0]), np.signbit(wanted[0]))
        row, middle = numbers[3].tolist(), sorted(numbers[3].tolist())[at]
        sides = ([y for y in row if y < middle], [y for y in row if y == middle], [y for y in row if y > middle])
        np.testing.assert_array_equal(found[0][3], np.concatenate(sides))
    for shape, at in (((2, 0), 0), ((0, 5), 7), ((0, 0), -3)):
        assert [y.shape for y in split(np.zeros(shape, dtype), at)] == [shape, shape]
    for at in (5, 6, -6):
        with pytest.raises(IndexError):
            split(np.zeros((2, 5), dtype), at)


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
@pytest.mark.parametrize("dtype", ["bool", "int8", *KINDS])
def test_partition_puts_the_others_before_and_behind(dtype: str, mode: str) -> None:
    x, k = tt.tensor(dtype=dtype, shape=(None, None)), tt.lscalar()
    split = {
        axis: function([x, k], [tt.partition(x, k, axis=axis), tt.argpartition(x, k, axis=axis)], mode=mode)
        for axis in (0, 1)
    }
    for shape in ((1, 1), (3, 30), (30, 3), (4, 300), (2, 5000)):
        whole = _values("int16" if dtype in {"bool", "int8"} else dtype, shape[0] * shape[1]).astype(dtype)
        for numbers in (whole.reshape(shape), whole.reshape(shape)[:, ::-1], whole.reshape(shape[::-1]).T):
            for axis, f in split.items():
                n = shape[axis]
                lines = numbers.swapaxes(axis, 1)
                # NumPy's sort of float16 with NaN is wrong on some processors.
                ordered = np.sort(lines.astype("float64") if dtype == "float16" else lines, axis=1)
                for at in {0, n // 3, n - 1, -1, -n}:
                    values, places = (y.swapaxes(axis, 1) for y in f(numbers, at))
                    np.testing.assert_array_equal(values[:, at], ordered[:, at])
                    for part in (slice(0, at % n), slice(at % n, n)):
                        np.testing.assert_array_equal(
                            np.sort(values[:, part].astype(ordered.dtype), axis=1), ordered[:, part]
                        )
                    np.testing.assert_array_equal(np.take_along_axis(lines, places, 1), values)
                    np.testing.assert_array_equal(np.sort(places, axis=1), np.tile(np.arange(n), (len(lines), 1)))
    for outside in (5, -6):
        with pytest.raises(IndexError):
            split[1](np.zeros((2, 5), dtype), outside)
    assert split[1](np.zeros((0, 5), dtype), 7)[0].shape == (0, 5)
    assert split[1](np.zeros((2, 0), dtype), 7)[0].shape == (2, 0)


def test_positions_that_partition_are_those_of_the_elements_where_the_place_differs_along_a_batch() -> None:
    x, k = tt.dvector(), tt.lscalar()
    m, several = tt.dmatrix(), tt.lvector()
    values, places = vectorize_graph([tt.partition(x, k), tt.argpartition(x, k)], {x: m, k: several})
    numbers = np.random.default_rng(3).normal(size=(3, 40))
    found, order = function([m, several], [values, places], mode="VM")(numbers, [0, 39, 20])
    np.testing.assert_array_equal(found, np.take_along_axis(numbers, order, 1))
    for row, wanted, at in zip(found, np.sort(numbers, axis=1), (0, 39, 20), strict=True):
        assert row[at] == wanted[at]
