"""From plain values to tensors, and back from shared ones."""

import subprocess
import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.graph import DuplicateRegistrationError
from treadle.tensor import DtypeError, TensorTypeError, as_tensor, constant, shared
from treadle.tensor.types.registered_conversions import Conversions

basic: Any = import_module("treadle.tensor.basic")


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (1, "int64", ()),
        (True, "bool", ()),
        (1.5, "float64", ()),
        (1j, "complex128", ()),
        ([1, 2], "int64", (2,)),
        ([[1.0], [2.0]], "float64", (2, 1)),
        (np.float32(2), "float32", ()),
        (np.zeros((0, 3), "int8"), "int8", (0, 3)),
    ],
)
def test_plain_value_becomes_a_constant(value: Any, dtype: str, shape: tuple[int, ...]) -> None:
    variable: Any = as_tensor(value)
    assert (variable.dtype, variable.type.shape) == (dtype, shape)
    np.testing.assert_array_equal(variable.data, value)


def test_python_float_has_the_default_dtype() -> None:
    with config.change_flags(floatX="float32"):
        assert constant(1.5).dtype == "float32"
        assert constant(np.float64(1.5)).dtype == "float64"


def test_constant_keeps_a_copy() -> None:
    array = np.ones(2)
    variable = constant(array)
    array[0] = 5
    np.testing.assert_array_equal(variable.data, [1, 1])
    assert not variable.data.flags.writeable


def test_list_with_variables_is_stacked() -> None:
    x = tt.dscalar("x")
    stacked = as_tensor([x, 2.0])
    assert (stacked.dtype, stacked.type.shape) == ("float64", (2,))


def test_list_with_variables_is_stacked_before_anything_else_was_asked_for() -> None:
    code = "import treadle.tensor as tt; assert tt.as_tensor([tt.dscalar(), 2.0]).type.shape == (2,)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("value", ["text", [[1], [1, 2]], object(), None, {}])
def test_value_that_is_not_a_number_is_refused(value: Any) -> None:
    with pytest.raises(TensorTypeError, match=r"constant|dtype"):
        as_tensor(value)


def test_integer_that_does_not_fit_is_refused() -> None:
    with pytest.raises(TensorTypeError, match="300"):
        constant(300, dtype="int8")


def test_rank_is_padded_in_front() -> None:
    assert as_tensor([1, 2], ndim=2).type.shape == (1, 2)
    assert as_tensor(tt.dvector(), ndim=3).broadcastable == (True, True, False)
    with pytest.raises(TensorTypeError, match="rank 1"):
        as_tensor(tt.dmatrix("x"), ndim=1)


def test_variable_is_not_converted() -> None:
    x = tt.dscalar()
    assert as_tensor(x) is x
    with pytest.raises(TensorTypeError, match="as_tensor_variable"):
        constant(x)


def test_shared_array_knows_no_lengths() -> None:
    variable: Any = shared(np.ones((2, 3)), name="w")
    assert variable.type.shape == (None, None)
    assert isinstance(variable, tt.TensorSharedVariable)
    np.testing.assert_array_equal(variable.get_value(), np.ones((2, 3)))


# Python numbers beside tensors are weak, as in NumPy 2


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float32", "float64"])
def test_python_integer_takes_the_tensors_dtype(dtype: str) -> None:
    x: Any = tt.tensor(dtype=dtype, ndim=1)
    assert (x + 1).dtype == (np.ones(1, dtype) + 1).dtype
    assert (2 * x).dtype == dtype


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32", "float64"])
def test_python_float_takes_the_tensors_precision(dtype: str) -> None:
    x: Any = tt.tensor(dtype=dtype, ndim=1)
    assert (x + 1.5).dtype == (np.ones(1, dtype) + 1.5).dtype


@pytest.mark.parametrize("a", tt.DTYPES[:-2])
@pytest.mark.parametrize("b", tt.DTYPES[:-2])
def test_dtypes_are_promoted_as_numpy_does(a: str, b: str) -> None:
    x: Any = tt.tensor(dtype=a, ndim=1)
    y: Any = tt.tensor(dtype=b, ndim=1)
    left, right = np.ones(1, a), np.ones(1, b)
    assert (x + y).dtype == (left + right).dtype
    assert (x / y).dtype == (left / right).dtype
    assert (x < y).dtype == "bool"
    assert tt.arctan2(x, y).dtype == np.arctan2(left, right).dtype


def test_python_integer_out_of_bounds_is_refused() -> None:
    x: Any = tt.tensor("x", dtype="int8", ndim=1)
    with pytest.raises(DtypeError, match="300 is out of bounds for int8"):
        x + 300
    assert (x < 300).dtype == "bool"


def test_cast_to_the_same_dtype_adds_nothing() -> None:
    x = tt.dvector()
    assert tt.cast(x, "float64") is x
    assert x.astype("int8").dtype == "int8"


class Hostile:
    """An object all of whose methods fail."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise RuntimeError

    def __repr__(self) -> str:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError

    def __iter__(self) -> Any:
        raise RuntimeError


NESTED: list[Any] = []
NESTED.append(NESTED)


@pytest.mark.parametrize(
    "value", [Hostile(), [Hostile()], NESTED, [[1], [2, 3]], object(), {1: 2}, "text", b"2", None, np.array(["a"])]
)
def test_value_that_is_not_an_array_of_numbers_is_refused(value: Any) -> None:
    for convert in (constant, as_tensor, lambda v: tt.vector() + v, tt.exp, tt.vector().type.filter):
        with pytest.raises(
            TensorTypeError,
            match=r"^(constant: x|as_tensor: x|add: operand 2|numpy.add|exp|Vector\(float64, shape=\(\?,\)\)): ",
        ):
            convert(value)


MASKED = np.ma.array([1.0, 2.0], mask=[False, True])


@pytest.mark.parametrize("value", [MASKED, [1.0, MASKED[1]], [MASKED, MASKED], (np.ones(2), [MASKED])], ids=repr)
def test_masked_array_is_refused_wherever_values_are_taken(value: Any) -> None:
    x = tt.vector("x")
    takes = (
        constant,
        as_tensor,
        shared,
        x.type.filter,
        tt.sum,
        lambda v: tt.maximum(v, x),
        shared(np.ones(2)).set_value,
    )
    for take in takes:
        with pytest.raises(NotImplementedError, match=r": tensors have no mask, got .*filled") as caught:
            take(value)
        assert isinstance(caught.value, TypeError)
    with pytest.raises(TypeError, match="tensors have no mask"):
        function([x], x)(value)


@pytest.mark.parametrize("ndim", [-1, 65, 1.5, "2", True], ids=repr)
def test_value_that_is_not_a_rank_is_refused(ndim: Any) -> None:
    for value in (1.0, tt.scalar()):
        with pytest.raises(
            (TypeError, ValueError), match=r"ndim must be an integer of 0 or more|64 dimensions at most"
        ):
            as_tensor(value, ndim=ndim)


def test_constant_of_a_wider_type_knows_its_lengths() -> None:
    variable = tt.TensorConstant(tt.TensorType("int64", (None, None)), np.ones((2, 3), "int64"))
    assert variable.type.shape == (2, 3)
    assert tt.TensorType("int64", (None, 3)).make_constant(np.ones((2, 3), "int64")).type.shape == (2, 3)


class Celsius:
    """A value of another library."""

    def __init__(self, degrees: Any) -> None:
        self.degrees = degrees


class Fever(Celsius):
    """A value of a class derived from it."""


def warm(degrees: Any) -> Any:
    return Celsius(degrees)


@pytest.fixture
def converted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a new table of conversions in place of the one in use."""
    table = Conversions()
    for module in ("conversion", "registered_conversions"):
        monkeypatch.setattr(f"treadle.tensor.types.{module}.CONVERSIONS", table)
    return table


def kelvins(value: Celsius, name: str | None = None, ndim: int | None = None, **options: Any) -> Any:
    return as_tensor(np.asarray(value.degrees) + 273.0, name, ndim, **options)


@pytest.mark.usefixtures("converted")
@pytest.mark.parametrize("register", [tt.register_conversion, basic._as_tensor_variable.register])
def test_values_of_other_libraries_become_tensors_as_registered(register: Any) -> None:
    assert register(Celsius)(kelvins) is kelvins
    x = tt.dvector("x")
    fever: Any = Fever([1.0, 2.0])
    assert (x + fever).eval({x: [0.0, 1.0]}).tolist() == [274.0, 276.0]
    assert tt.maximum(warm(20.0), 0).eval() == 293.0
    named = as_tensor(warm(1.0), name="warm", ndim=1)
    assert (named.name, named.type.shape) == ("warm", (1,))
    assert as_tensor(warm(1.0), dtype="float32").dtype == "float32"
    assert basic._as_tensor_variable(Celsius(1.0)).eval() == 274.0
    assert basic._as_tensor_variable([1, 2], "two").name == "two"


def test_conversions_are_declared_once(converted: Any) -> None:
    tt.register_conversion(Celsius, kelvins)
    with pytest.raises(DuplicateRegistrationError, match="Celsius has a conversion already"):
        tt.register_conversion(Celsius, kelvins)
    tt.register_conversion(Celsius, lambda value, *_: value, replace=True)
    with pytest.raises(TensorTypeError, match="conversion of Celsius must return a tensor variable or an array"):
        as_tensor(warm(1.0))
    with pytest.raises(TensorTypeError, match="values have conversions, got the class of variables TensorVariable"):
        tt.register_conversion(tt.TensorVariable, kelvins)
    with pytest.raises(TensorTypeError, match="a class and a function are needed, got 3"):
        tt.register_conversion(3, kelvins)  # type: ignore[arg-type]  # that is the point
    assert len(converted) == 1
    assert basic._as_tensor_variable.dispatch(int) is tt.as_tensor_variable
