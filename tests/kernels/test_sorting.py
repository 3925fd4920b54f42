"""Kernels of sorting where NumPy's own functions cannot be called: keys sorted by digits give what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
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
