"""The contract of Type."""

from typing import Any

import pytest

from tests.graph.arithmetic import NUMBER, Number
from treadle.graph import DisconnectedType, GraphTypeError, NullType, Type


class Anything(Type):
    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        return data


def test_type_must_implement_filter() -> None:
    with pytest.raises(TypeError, match="abstract method"):
        Type()  # type: ignore[abstract]  # what the test is about


def test_types_with_props_are_equal_by_class_and_props() -> None:
    assert Number("m") == Number("m")
    assert hash(Number("m")) == hash(Number("m"))
    assert Number("m") != Number("s")
    assert repr(Number("m")) == "Number(unit='m')"


def test_type_without_props_equals_only_itself() -> None:
    first, second = Anything(), Anything()
    assert first == first
    assert first != second
    with pytest.raises(GraphTypeError, match="has no __props__"):
        first.canonical()


def test_is_valid_value_tells_what_filter_accepts() -> None:
    assert NUMBER.is_valid_value(1.0)
    assert not NUMBER.is_valid_value(1)
    assert NUMBER.is_valid_value(1, strict=False)
    assert not NUMBER.is_valid_value("1", strict=False)


def test_filter_variable_takes_values_and_variables_of_the_type() -> None:
    x = NUMBER("x")
    assert NUMBER.filter_variable(x) is x
    assert NUMBER.filter_variable(2).data == 2.0  # type: ignore[attr-defined]  # a constant
    with pytest.raises(GraphTypeError, match=r"got y of type Number\(m\)"):
        NUMBER.filter_variable(Number("m")("y"))


def test_clone_changes_attributes() -> None:
    assert NUMBER.clone(unit="kg") == Number("kg")


def test_defaults_know_nothing_of_arrays() -> None:
    kind = Anything()
    value = [1]
    assert (kind.nbytes(value), kind.static_nbytes(), kind.non_finite(value)) == (0, None, (False, False))
    assert (kind.guard("x"), list(kind.preallocations("strided")), kind.narrowed(value)) == (None, [], kind)
    assert kind.copy_value(value) is not value
    assert kind.may_share_memory(value, value)
    assert kind.values_eq(1, 1)
    assert kind.values_eq_approx(1, 1)
    with pytest.raises(GraphTypeError, match="no sample values"):
        kind.sample(0)


@pytest.mark.parametrize("kind", [DisconnectedType(), NullType("discrete")])
def test_types_of_absent_gradients_refuse_every_value(kind: Type) -> None:
    with pytest.raises(GraphTypeError, match="got 1"):
        kind.filter(1)


def test_null_types_are_told_apart_by_the_reason() -> None:
    assert NullType("a") == NullType("a")
    assert NullType("a") != NullType("b")
    assert DisconnectedType() == DisconnectedType()
