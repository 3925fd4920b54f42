"""Python's operators, with operands of other libraries' classes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.tensor.errors import DtypeError, TensorTypeError

BINARY = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "divmod": divmod,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "matmul": operator.matmul,
}
COMPARISONS = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
IN_PLACE = [
    "iadd",
    "isub",
    "imul",
    "itruediv",
    "ifloordiv",
    "imod",
    "ipow",
    "iand",
    "ior",
    "ixor",
    "ilshift",
    "irshift",
]
REFLECTED = {**{name: f"r{name}" for name in BINARY}, **COMPARISONS}

x = tt.lvector("x")


class Covariance:
    """A function that NumPy cannot convert, with operators of its own, which report their names."""


class Undecided:
    """An object whose operators refuse everything."""


for _name in REFLECTED.values():
    setattr(Covariance, f"__{_name}__", lambda _, other, name=_name: (name, other))
    setattr(Undecided, f"__{_name}__", lambda *_: NotImplemented)


@pytest.mark.parametrize("name", REFLECTED)
def test_operand_with_an_operator_of_its_own_is_asked(name: str) -> None:
    operation = BINARY.get(name) or getattr(operator, name)
    assert operation(x, Covariance()) == (REFLECTED[name], x)
    assert getattr(x, f"__{name}__")(Covariance()) is NotImplemented
    assert getattr(tt.constant([1, 2]), f"__{name}__")(Covariance()) is NotImplemented
    assert getattr(shared(np.arange(2)), f"__{name}__")(Covariance()) is NotImplemented


@pytest.mark.parametrize("name", [*IN_PLACE, "imatmul"])
def test_operand_is_asked_by_operators_in_place_too(name: str) -> None:
    assert getattr(operator, name)(x, Covariance()) == (f"r{name[1:]}", x)


@pytest.mark.parametrize("name", REFLECTED)
def test_operand_that_nobody_takes_is_a_type_error(name: str) -> None:
    operation = BINARY.get(name) or getattr(operator, name)
    with pytest.raises(TypeError, match=r"TensorVariable.*Undecided"):
        operation(x, Undecided())


@pytest.mark.parametrize(
    "wrong", [None, "text", b"bytes", object(), [None], ("a",), {}, {1}, ...], ids=lambda wrong: type(wrong).__name__
)
@pytest.mark.parametrize("name", REFLECTED)
def test_wrong_data_are_reported_as_such(name: str, wrong: Any) -> None:
    operation = BINARY.get(name) or getattr(operator, name)
    with pytest.raises(TensorTypeError, match="Pass numbers"):
        operation(x, wrong)


def test_fault_of_an_operation_is_reported_though_the_operand_has_operators() -> None:
    with pytest.raises(DtypeError, match="and: the function does not take"):
        x & np.ones(3)
    with pytest.raises(DtypeError, match="and: the function does not take"):
        operator.and_(x, Series([1.0]))


class Series:
    """A stand-in for a series: an array that leaves operators to operands of a higher priority, as pandas does."""

    __pandas_priority__ = 3000

    def __init__(self, values: Any) -> None:
        self.values = np.array(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.values, dtype, copy=copy)

    def _leave(self, other: Any) -> Any:
        if getattr(other, "__pandas_priority__", 0) > self.__pandas_priority__:
            return NotImplemented
        return Series(np.asarray(other))


for _name in (*BINARY, *COMPARISONS, *REFLECTED.values()):
    setattr(Series, f"__{_name}__", Series._leave)


@pytest.mark.parametrize("name", [name for name in REFLECTED if name != "divmod"])
def test_series_on_either_side_counts_as_its_array(name: str) -> None:
    operation = BINARY.get(name) or getattr(operator, name)
    values, others = np.array([3, 5, 2]), np.array([1, 2, 3])
    left, right = operation(Series(values), x), operation(x, Series(values))
    results = function([x], [left, right], mode="VM")(others)
    np.testing.assert_array_equal(results[0], operation(values, others))
    np.testing.assert_array_equal(results[1], operation(others, values))


def test_shared_variable_takes_a_series_and_keeps_a_copy() -> None:
    series = Series([1.0, 2.0])
    kept = shared(series, name="kept")
    assert kept.type == tt.vector(dtype="float64").type
    series.values[0] = 9.0
    assert kept.get_value().tolist() == [1.0, 2.0]
    kept.set_value(Series([3.0]))
    assert kept.get_value().tolist() == [3.0]
    with pytest.raises(TensorTypeError, match="is no array of numbers"):
        shared(Series(["a"]))


def test_shared_variable_does_not_keep_the_array_that_a_series_hands_out() -> None:
    class Frame(Series):
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return self.values

    frame = Frame([1.0, 2.0])
    kept = shared(frame)
    frame.values[0] = 9.0
    assert kept.get_value().tolist() == [1.0, 2.0]
    kept.set_value(frame)
    frame.values[1] = 9.0
    assert kept.get_value().tolist() == [9.0, 2.0]


@pytest.mark.parametrize("first", [7.234, 3, True, [1.0, 2.0], np.float64(2.5), np.ones(2)], ids=repr)
def test_first_value_of_a_strict_shared_variable_says_its_type(first: Any) -> None:
    kept = shared(first, strict=True)
    np.testing.assert_array_equal(kept.get_value(), first)
    with pytest.raises(TensorTypeError, match="strict"):
        kept.set_value([5])
