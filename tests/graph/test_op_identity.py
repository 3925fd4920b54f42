"""Ops differ by parameters that other processes do not know, and by those known by name."""

import functools
from typing import Any

import pytest

from tests.graph.arithmetic import number
from treadle.graph import (
    Apply,
    FunctionGraph,
    GraphTypeError,
    NodeFinder,
    Op,
    encode,
    equal_computations,
    static_op,
)

X = number("x")


@functools.cache
def remembered(value: float) -> float:
    """Return the value: an object of a class written in C, which has a name at module level."""
    return value


class Holder(Op):
    """An op whose parameter has no encoding, as that of a lambda."""

    __props__ = ("function", "label")

    def __init__(self, function: Any, label: str = "") -> None:
        self.function = function
        self.label = label

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, inputs, [inputs[0].type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = self.function(*inputs)


def test_op_with_a_parameter_that_other_processes_do_not_know_is_compared_here() -> None:
    def double(value: float) -> float:
        return value * 2

    op = Holder(double)
    assert op == Holder(double)
    assert hash(op) == hash(Holder(double))
    assert op != Holder(lambda value: value * 2)
    assert op != Holder(double, "other")


def test_op_with_a_parameter_that_other_processes_do_not_know_has_no_stable_key() -> None:
    with pytest.raises(GraphTypeError, match="lambda or a local function"):
        Holder(lambda value: value).stable_key()


def test_op_with_a_parameter_that_other_processes_do_not_know_works_in_graphs() -> None:
    op = Holder(lambda value: value * 2)
    graph = FunctionGraph([X], [op(op(X))], [NodeFinder()])
    assert len(graph.get_nodes(op)) == 2
    assert graph.freeze() == graph.freeze()
    assert equal_computations([op(X)], [op(X)])
    assert op(X).eval({X: 3.0}) == 6.0


def test_object_that_a_module_holds_under_its_own_name_is_encoded_by_it() -> None:
    assert encode(remembered) == encode(remembered)
    assert Holder(remembered).stable_key() == Holder(remembered, "").stable_key()
    hidden = functools.cache(remembered.__wrapped__)
    with pytest.raises(GraphTypeError, match="has no canonical encoding"):
        encode(hidden)


@static_op
class Scale(Op):
    """An op with a parameter."""

    by: float

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = self.by * inputs[0]


@static_op
class Shift(Scale):
    """An op with one parameter more than the class that it derives from."""

    to: float


def test_op_is_told_apart_by_the_parameters_of_its_own_class() -> None:
    assert hash(Scale(1.0)) == hash(Scale(1.0))
    assert Scale(1.0) != Scale(2.0)
    assert Shift(1.0, 2.0) == Shift(1.0, 2.0)
    assert Shift(1.0, 2.0) != Shift(1.0, 3.0)
    assert Scale(1.0) == Scale(1.0)
