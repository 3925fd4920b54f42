"""TensorType: interning, relations, and the values that it accepts."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import shared
from treadle.config import config
from treadle.tensor import DTYPES, TensorType, TensorTypeError


def test_equal_types_are_one_object() -> None:
    assert TensorType("float64", (None, 3)) is TensorType(np.float64, [None, 3])
    assert TensorType("float64", (1,)) is not TensorType("float64", (None,))


def test_type_survives_pickling_and_copying_as_itself() -> None:
    tensor_type = TensorType("int8", (2, None))
    assert pickle.loads(pickle.dumps(tensor_type)) is tensor_type
    assert copy.deepcopy(tensor_type) is tensor_type


def test_older_broadcastable_pattern_is_understood() -> None:
    assert TensorType("float64", (True, False)) is TensorType("float64", (1, None))
    assert TensorType("float64", (True, False)).broadcastable == (True, False)


def test_floatx_is_resolved_when_the_type_is_made() -> None:
    with config.change_flags(floatX="float32"):
        assert TensorType("floatX").dtype == "float32"
    assert TensorType("floatX").dtype == "float64"


@pytest.mark.parametrize("dtype", ["text", "float128x", object, "datetime64[s]"])
def test_unknown_dtype_is_refused_with_the_list(dtype: Any) -> None:
    with pytest.raises(TensorTypeError, match="one of bool, int8"):
        TensorType(dtype)


@pytest.mark.parametrize("length", [-1, 2.5, "3"])
def test_wrong_length_is_refused(length: Any) -> None:
    with pytest.raises(TensorTypeError, match="length of 0 or more"):
        TensorType("float64", (length,))


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((), "Scalar(float64)"),
        ((None,), "Vector(float64, shape=(?,))"),
        ((None, 3), "Matrix(float64, shape=(?, 3))"),
        ((1, 2, 3, None), "Tensor4(float64, shape=(1, 2, 3, ?))"),
    ],
)
def test_type_is_shown_with_what_is_known_of_its_shape(shape: Any, text: str) -> None:
    assert str(TensorType("float64", shape)) == text


def test_type_covers_those_that_know_more() -> None:
    loose, tight = TensorType("float64", (None, 3)), TensorType("float64", (2, 3))
    assert loose.is_super(tight)
    assert not tight.is_super(loose)
    assert not loose.is_super(TensorType("float32", (2, 3)))
    assert not loose.is_super(TensorType("float64", (2, 4)))


# Values


def test_right_array_is_taken_as_it_is() -> None:
    value = np.ones((2, 3))
    assert TensorType("float64", (None, 3)).filter(value) is value


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("float64", 3),
        ("float64", np.float32(1.5)),
        ("float32", 0.1),
        ("int8", 100),
        ("int8", np.array(100)),
        ("uint8", True),
        ("float32", np.nan),
        ("float32", [1.5, np.nan]),
        ("float32", np.float64(0.5)),
        ("int8", [3, -4]),
        ("int64", [2.0]),
        ("bool", [0, 1]),
        ("complex64", 1),
    ],
)
def test_value_that_loses_nothing_is_converted(dtype: str, value: Any) -> None:
    with config.change_flags(floatX="float32"):
        array = TensorType(dtype, (None,) * np.ndim(value)).filter(value)
    assert array.dtype == dtype
    np.testing.assert_array_equal(array, np.asarray(value).astype(dtype))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int8", 1000),
        ("int64", 1.5),
        ("float32", np.array(0.1)),
        ("float32", 0.1),
        ("bool", np.array(2)),
        ("bool", np.nan),
        ("float32", np.array(0.5)),
        ("float32", [0.1]),
        ("uint64", [-1]),
        ("int64", [1.5]),
        ("int8", np.array([1], "int16")),
        ("float32", np.array([1])),
        ("float64", 1j),
        ("uint8", -1),
        ("int64", "1"),
        ("float64", None),
    ],
)
def test_value_that_would_lose_something_is_refused(dtype: str, value: Any) -> None:
    with pytest.raises(TensorTypeError, match=f"{dtype}"):
        TensorType(dtype).filter(value)


def test_downcast_can_be_allowed() -> None:
    assert TensorType("float32").filter(np.array(0.1), allow_downcast=True) == np.float32(0.1)


def test_strict_takes_the_exact_dtype_only() -> None:
    with pytest.raises(TensorTypeError, match="strict"):
        TensorType("float64").filter(1, strict=True)


@pytest.mark.parametrize("value", [np.ones(3), np.ones((2, 4)), np.ones((1, 2, 3))])
def test_wrong_rank_or_length_is_refused(value: Any) -> None:
    with pytest.raises(TensorTypeError, match="does not fit"):
        TensorType("float64", (None, 3)).filter(value)


def test_foreign_byte_order_is_converted() -> None:
    value = np.arange(3.0).astype(">f8")
    array = TensorType("float64", (3,)).filter(value)
    assert array.dtype.isnative
    np.testing.assert_array_equal(array, value)


def test_closeness_depends_on_the_dtype() -> None:
    for dtype, near, far in (("float32", 1e-5, 1e-2), ("float64", 1e-9, 1e-5)):
        one = np.ones(2, dtype)
        assert TensorType.values_eq_approx(one, one + np.asarray(near, dtype))
        assert not TensorType.values_eq_approx(one, one + np.asarray(far, dtype))
    assert TensorType.values_eq(np.array([np.nan]), np.array([np.nan]))
    assert not TensorType.values_eq(np.array(1.0), np.array(1))


@pytest.mark.parametrize("dtype", tt.DTYPES)
def test_sample_fits_the_type(dtype: str) -> None:
    tensor_type = TensorType(dtype, (None, 2))
    value = tensor_type.sample(1)
    assert tensor_type.filter(value, strict=True) is value
    assert value.shape == (3, 2)


@pytest.mark.parametrize("kind", ["c_contiguous", "f_contiguous", "strided"])
def test_preallocated_buffers_have_the_sample_shape(kind: str) -> None:
    tensor_type = TensorType("float64", (None, 2))
    assert {x.shape for x in tensor_type.preallocations(kind)} == {(3, 2)}


def test_strict_takes_scalars_and_subclasses_of_arrays_of_the_exact_dtype(tmp_path: Path) -> None:
    taken = TensorType("int64", ()).filter(np.int64(7), strict=True)
    assert type(taken) is np.ndarray
    assert taken == 7
    variable = shared(np.float32(1.5), strict=True)
    variable.set_value(np.float32(2.5))
    assert variable.get_value() == 2.5
    with pytest.raises(TensorTypeError, match="got an array of dtype float64 and shape"):
        variable.set_value(np.float64(2.5))
    mapped = np.memmap(tmp_path / "values", dtype="float64", mode="w+", shape=(3,))
    assert type(TensorType("float64", (3,)).filter(mapped, strict=True)) is np.ndarray


def test_byte_order_is_named_where_it_is_what_does_not_fit() -> None:
    with pytest.raises(TensorTypeError, match="got an array of dtype >f8 and shape"):
        TensorType("float64", (2,)).filter(np.ones(2, ">f8"), strict=True)


def test_types_of_one_class_broadcast_alike() -> None:
    kind = TensorType("float64", (2, None))
    assert kind.in_same_class(TensorType("float64", (None, 3)))
    assert not kind.in_same_class(TensorType("float64", (2, 1)))
    assert not kind.in_same_class(TensorType("float32", (2, None)))


def test_number_that_only_equals_a_length_is_refused() -> None:
    assert TensorType("float64", (2, 1)) is TensorType("float64", (2, True))
    for shape in ((2.0, 1), (np.float64(2), 1), (2, 1 + 0j)):
        with pytest.raises(TensorTypeError, match="must be"):
            TensorType("float64", shape)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "float64"])
def test_numbers_that_are_read_quickly_are_those_that_are_converted_without_loss(dtype: str) -> None:
    kind = tt.TensorType(dtype, ())
    read = kind.quick_reader()
    assert read is not None
    for number in (0, -1, 127, 255, 300, 2**53, 2**53 + 1, 2**63, -(2**63), 2**64, 1.5, np.nan, -0.0):
        value = read(number)
        if isinstance(value, np.ndarray):
            expected = kind.filter(number)
            assert (value.dtype, value.shape, value.tobytes()) == (expected.dtype, (), expected.tobytes())
        else:
            assert value is number
            assert isinstance(number, float) or number not in {0, 127}
    own = kind.numpy_dtype.type(3)
    assert isinstance(read(own), np.ndarray)
    for other in (True, [3], None, "3", np.array(3, dtype), 3j, np.float128(3), np.array([3], "bool")):
        assert read(other) is other


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_that_are_read_quickly_are_those_that_lose_nothing(dtype: str) -> None:
    for ndim in (0, 2):
        kind = tt.TensorType(dtype, (None,) * ndim)
        read = kind.quick_reader() or (lambda x: x)
        for given in DTYPES:
            array = np.arange(6).astype(given).reshape(2, 3)[:1, :1].reshape((1,) * ndim)
            foreign = array.astype(array.dtype.newbyteorder())
            for value in (array, *([array[()]] if not ndim else [])):
                if value.dtype != dtype and np.can_cast(value.dtype, dtype, "safe"):
                    made: Any = read(value)
                    expected = kind.filter(value)
                    assert (made.dtype, made.shape, made.tobytes()) == (expected.dtype, (1,) * ndim, expected.tobytes())
                elif value.dtype != dtype:
                    assert read(value) is value
            others = [array, [[1]], array[None], np.ma.masked_array(array), array.astype("V8") if ndim else array]
            if array.dtype.itemsize > 1:
                others.append(foreign)
            for other in others:
                if other is not array or given == dtype:
                    assert read(other) is other
    if dtype == "bool":
        assert tt.TensorType("bool", (None,)).quick_reader() is None


def test_there_is_no_quick_way_for_numbers_that_may_be_rounded() -> None:
    for dtype, number in (("float32", 1.5), ("float32", 3), ("bool", 1), ("int64", 1.5), ("int64", np.float32(1))):
        read = tt.TensorType(dtype, ()).quick_reader()
        assert read is not None
        assert read(number) is number


@pytest.mark.parametrize(
    ("values", "fits"),
    [
        ([1, 2], True), ([1.5, 2], True), ([1 + 2j], True), ([True], True), ([complex(np.nan, 1), np.inf], True),
        ([0.1], False), ([1 + 0.1j], False), ([2**24 + 1], False), ([2**53 + 1], False), ([1e300], False),
    ],
)  # fmt: skip
def test_lists_become_complex64_where_nothing_is_lost(values: list[complex], fits: bool) -> None:
    kind = TensorType("complex64", (None,))
    if fits:
        np.testing.assert_array_equal(kind.filter(values), np.array(values, "complex64"))
        assert kind.filter(values).dtype == np.complex64
    else:
        with pytest.raises(TensorTypeError, match="would lose precision"):
            kind.filter(values)
    if values == [1 + 2j]:
        with pytest.raises(TensorTypeError, match=r"real\(\), imag\(\) or abs\(\)"):
            TensorType("float32", (None,)).filter(values)
