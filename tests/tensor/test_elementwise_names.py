"""Elementwise functions and comparisons of whole tensors, by NumPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from treadle import tensor as tt
from treadle.compile import function
from treadle.tensor import DtypeError

ALIASES = {
    "absolute": "abs", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atan2": "arctan2", "atanh": "arctanh", "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift", "degrees": "rad2deg", "divide": "true_div", "fix": "trunc",
    "floor_divide": "floor_div", "multiply": "mul", "negative": "neg", "radians": "deg2rad", "remainder": "mod",
    "sgn": "sign", "subtract": "sub", "true_divide": "true_div",
}  # fmt: skip


def test_names_of_numpy_are_those_of_the_same_functions() -> None:
    for theirs, ours in ALIASES.items():
        named, known = getattr(tt, theirs), getattr(tt, ours)
        assert named == known or named.__code__.co_code == known.__code__.co_code


def _value(build: Any, *arrays: Any) -> Any:
    variables = [tt.tensor(dtype=x.dtype, shape=(None,) * x.ndim) for x in arrays]
    return function(variables, build(*variables), mode="VM")(*arrays)


@pytest.mark.parametrize("decimals", [-2, -1, 0, 2])
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "float32", "float64", "complex128"])
def test_round_keeps_decimals_as_numpy_does(dtype: str, decimals: int) -> None:
    x = np.array([15, 25, 4, 104.126, 0.005]).astype(dtype)
    rounded = _value(lambda v: tt.round(v, decimals), x)
    np.testing.assert_array_equal(rounded, np.round(x, decimals), strict=True)


def test_mode_of_rounding_may_stand_where_decimals_do() -> None:
    assert tt.round([0.5, 1.5], "half_away_from_zero").eval().tolist() == [1, 2]
    assert tt.iround([0.5, 1.5]).eval().tolist() == [0, 2]


def test_decimals_of_truth_values_are_refused() -> None:
    with pytest.raises(DtypeError, match="round: truth values have no decimals, got 1"):
        tt.round([True], 1)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.arange(4.0), np.arange(4.0)),
        (np.arange(4.0), np.arange(3.0)),
        (np.array([1, np.nan]), np.array([1, np.nan])),
        (np.zeros(0), np.zeros(1)),
        (np.ones(1), np.ones(3)),
    ],
)
def test_whole_vectors_of_any_lengths_are_compared(x: np.ndarray, y: np.ndarray) -> None:
    assert _value(tt.array_equal, x, y) == np.array_equal(x, y)
    assert _value(lambda a, b: tt.array_equal(a, b, equal_nan=True), x, y) == np.array_equal(x, y, equal_nan=True)
    assert _value(tt.array_equiv, x, y) == np.array_equiv(x, y)


def test_tensors_of_shapes_known_to_differ_are_not_equal() -> None:
    assert not tt.array_equal(np.ones(2), np.ones(3)).eval()
    assert not tt.array_equiv(np.ones(2), np.ones(3)).eval()


@pytest.mark.parametrize("options", [{}, {"period": 4}, {"discont": 1.0}, {"axis": 0}])
def test_phases_are_unwrapped_as_numpy_does(options: dict[str, Any]) -> None:
    for x in (np.random.default_rng(1).normal(size=(5, 6)) * 5, np.array([[1, 2, 6, -7, 3, 1]])):
        np.testing.assert_allclose(_value(lambda v: tt.unwrap(v, **options), x), np.unwrap(x, **options))


def test_associative_functions_take_any_number_of_operands() -> None:
    x = tt.dvector()
    values = np.array([-1.0, 2.0, 0.5])
    results = function([x], [tt.logaddexp(x, 1, 0), tt.add(x, x, 2, x), tt.largest(x, 1, 0), tt.smallest(x)])(values)
    np.testing.assert_allclose(results[0], np.logaddexp(np.logaddexp(values, 1), 0))
    np.testing.assert_array_equal(results[1:], [3 * values + 2, np.maximum(values, 1), values])


def test_gradient_is_shared_by_the_largest_operands() -> None:
    x, y, z = (tt.dscalar() for _ in range(3))
    slopes = function([x, y, z], tt.grad(tt.largest(x, y, z), [x, y, z]))
    assert [float(g) for g in slopes(1.0, 1.0, 0.0)] == [0.5, 0.5, 0.0]


def test_dtype_of_real_if_close_must_not_depend_on_values() -> None:
    assert tt.real_if_close([1.0, 2.0]).eval().tolist() == [1, 2]
    with pytest.raises(DtypeError, match="real_if_close: the dtype of the result would depend on the values"):
        tt.real_if_close([1j])


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_neighbours_of_short_floats_stay_short_beside_python_numbers(dtype: str) -> None:
    x = np.array([1, -1, 6.5], dtype)
    np.testing.assert_array_equal(_value(lambda v: tt.nextafter(v, 2), x), np.nextafter(x, 2), strict=True)
