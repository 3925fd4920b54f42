"""What types of tensors report about values: sizes, differences, agreement, buffers."""

from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.tensor import TensorType


@pytest.mark.parametrize(
    ("dtype", "values", "expected"),
    [
        ("float64", [1.0, -2e10], True),
        ("float64", [1e10, np.nan, np.inf, -np.inf], False),
        ("complex64", [9e9 + 9e9j], True),
        ("int64", [-(2**62)], True),
        ("int64", [-(2**63)], True),
        ("uint64", [2**63], True),
        ("int32", [-(2**31)], False),
        ("bool", [True], False),
        ("float32", [], False),
    ],
)
def test_numbers_beyond_a_bound_are_detected(dtype: str, values: list[Any], expected: bool) -> None:
    assert TensorType(dtype, (None,)).exceeds(np.array(values, dtype), 1e10) is expected


def test_magnitude_is_that_of_the_largest_finite_number() -> None:
    kind = TensorType("float64", (None,))
    assert kind.magnitude(np.array([1.0, -3.0, np.nan, np.inf])) == 3.0
    assert kind.magnitude(np.array([np.nan])) == kind.magnitude(np.zeros(0)) == 0.0
    assert TensorType("int8", (None,)).magnitude(np.array([-128], "int8")) == 128.0
    assert TensorType("bool", ()).magnitude(np.array(True)) == 0.0


def test_values_agree_up_to_rounding_of_what_they_were_made_of() -> None:
    agree = TensorType("float64", (None,)).agree
    a = np.array([1.0, 2.0])
    assert agree(a, a * (1 + 1e-9))
    assert not agree(a, a + 1e-5)
    assert not agree(a, a.astype("float32"))
    assert not agree(a, a[:1])
    # Sums of large numbers that cancel.
    assert agree(a, a + 1e-5, scale=1e10)
    assert not agree(a, a + 1e-5, scale=1e6)


def test_only_finite_values_count_where_that_is_asked_for() -> None:
    agree = TensorType("float64", (None,)).agree
    before, after = np.array([1.0, np.inf, np.nan]), np.array([1.0, 1000.0, 2.0])
    assert agree(before, after, where_finite=True)
    assert not agree(before, after)
    assert not agree(before, after + 1, where_finite=True)
    assert not agree(np.array([1.0]), np.array([np.nan]), where_finite=True)


def test_difference_is_described_by_size_and_place() -> None:
    tell = TensorType.describe_difference
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 2.5], [3.0, 3.0]])
    assert tell(a, b) == (
        "the largest absolute difference is 1 at (1, 1) (4.0 against 3.0), the largest relative one 0.25, "
        "2 of 4 elements differ"
    )
    assert tell(np.array([np.nan, 1.0]), np.array([np.nan, np.nan])).startswith(
        "the largest absolute difference is inf"
    )
    assert tell(a, b[0]) == "shape (2, 2) against (2,)"
    assert tell(a, b.astype("int64")) == "dtype float64 against int64"
    assert "127 at (0,)" in tell(np.array([-100], "int8"), np.array([27], "int8"))


def test_buffers_have_the_form_of_a_value_and_hold_nothing_of_use() -> None:
    kind = TensorType("float64", (None, 1, None))
    value: Any = np.zeros((2, 1, 3))
    for layout, flag in (("c_contiguous", "C_CONTIGUOUS"), ("f_contiguous", "F_CONTIGUOUS")):
        buffer: Any
        (buffer,) = kind.preallocations(layout, value)
        assert buffer.flags[flag]
        assert buffer.shape == value.shape
        assert np.isnan(buffer).all()
    assert len(list(kind.preallocations("strided", value))) == 16
    assert len(list(kind.preallocations("strided", value, 1))) == 4
    shapes = {buffer.shape for buffer in kind.preallocations("wrong_size", value)}
    assert shapes == {(i, 1, j) for i in (1, 2, 3) for j in (2, 3, 4)} - {(2, 1, 3)}


def test_buffers_of_scalars_and_of_fixed_lengths() -> None:
    scalar = tt.dscalar().type
    assert [b.shape for b in scalar.preallocations("strided", np.array(1.0))] == [()]
    assert list(scalar.preallocations("wrong_size", np.array(1.0))) == []
    assert list(TensorType("int8", (3,)).preallocations("wrong_size", np.zeros(3, "int8"))) == []
    (filled,) = TensorType("int16", (2,)).preallocations("c_contiguous", np.zeros(2, "int16"))
    assert filled.tolist() == [0x5A5A, 0x5A5A]
