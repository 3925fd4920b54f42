"""Membership among sorted values: few are compared, more are searched; beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import vectorize_graph

DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
)  # fmt: skip


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_among_any_number_of_values(dtype: str, mode: str) -> None:
    x, values = tt.tensor(dtype=dtype, shape=(None, None)), tt.tensor(dtype=dtype, shape=(None,))
    f = function([x, values], [tt.isin(x, values), tt.isin(x, values, invert=True)], mode=mode)
    rng = np.random.default_rng(4)
    for shape in ((0, 3), (1, 1), (3, 30), (2, 700)):
        whole = rng.integers(0, 60, shape).astype(dtype)
        if whole.dtype.kind == "f":
            whole[rng.random(shape) < 0.1] = np.nan
            whole[rng.random(shape) < 0.1] = -0.0
        for count in (0, 1, 4, 5, 16, 17, 40):
            few = rng.integers(0, 60, count).astype(dtype)
            if whole.dtype.kind == "f" and count > 1:
                few[:2] = np.nan, np.inf
            for numbers in (whole, whole[:, ::-1], np.asfortranarray(whole)):
                found, others = f(numbers, few)
                np.testing.assert_array_equal(found, np.isin(numbers, few))
                np.testing.assert_array_equal(others, ~np.isin(numbers, few))
                assert found.dtype == bool


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_values_in_steps_and_backwards(mode: str) -> None:
    x, values = tt.dvector(), tt.dvector()
    f = function([x, values], tt.IsIn()(x, values[::-2]), mode=mode)
    numbers = np.arange(50.0)
    for count in (3, 12, 90):
        falling = np.arange(count, 0.0, -1)
        np.testing.assert_array_equal(f(numbers, falling), np.isin(numbers, falling[::-2]))


def test_each_part_of_a_batch_may_have_its_own_values() -> None:
    x, values, m, rows = tt.dvector(), tt.dvector(), tt.dmatrix(), tt.dmatrix()
    shared, own = (vectorize_graph(tt.isin(x, values), given) for given in ({x: m}, {x: m, values: rows}))
    numbers, several = np.arange(12.0).reshape(3, 4), np.array([[1.0, 2.0], [0.0, 7.0], [11.0, 8.0]])
    np.testing.assert_array_equal(
        function([m, values], shared, mode="VM")(numbers, several[1]), np.isin(numbers, several[1])
    )
    np.testing.assert_array_equal(
        function([m, rows], own, mode="VM")(numbers, several),
        [np.isin(row, few) for row, few in zip(numbers, several, strict=True)],
    )


def test_complex_numbers_have_no_order() -> None:
    with pytest.raises(tt.TensorTypeError, match="a tensor and a vector of one real dtype are needed"):
        tt.IsIn()(tt.zvector(), tt.zvector())
