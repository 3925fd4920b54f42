"""Ops with a graph of their own."""

import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from tests.graph.arithmetic import NUMBER, add, inverse, mul, number
from treadle.graph import (
    INNER_COMPILER,
    Apply,
    FunctionGraph,
    GraphError,
    HasInnerGraph,
    Op,
    Variable,
    compile_inner,
    debugprint,
)


class Repeated(Op, HasInnerGraph):
    """An inner graph of one input and output, applied several times."""

    def __init__(self, inputs: list[Variable], outputs: list[Variable], times: int) -> None:
        self._fgraph = FunctionGraph(inputs, outputs, clone=True)
        self.times = times

    @property
    def fgraph(self) -> FunctionGraph:
        return self._fgraph

    @property
    def inner_inputs(self) -> list[Variable]:
        return self._fgraph.inputs

    @property
    def inner_outputs(self) -> list[Variable]:
        return self._fgraph.outputs

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [NUMBER()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        (value,) = inputs
        for _ in range(self.times):
            (value,) = self.fn(value)
        output_storage[0][0] = value


class Kept(Op, HasInnerGraph):
    """An op that sets its inner graph when it is constructed, as in the documentation."""

    def __init__(self, inputs: list[Variable], outputs: list[Variable]) -> None:
        self.fgraph = FunctionGraph(inputs, outputs, clone=True)  # type: ignore[misc]  # typed as a property

    inner_inputs = property(lambda self: self.fgraph.inputs)
    inner_outputs = property(lambda self: self.fgraph.outputs)

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [NUMBER()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        (output_storage[0][0],) = self.fn(*inputs)


def test_inner_graph_may_be_an_attribute() -> None:
    x = number("x")
    op = Kept([x], [add(x, x)])
    assert op(x).eval({x: 3.0}) == 6.0
    other = op.clone()
    assert other.fgraph is not op.fgraph
    assert "Inner graphs:" in str(debugprint(op(x), file="str"))


def doubled(times: int) -> Repeated:
    x = number("x")
    return Repeated([x], [add(x, x)], times)


def test_inner_function_runs_the_inner_graph() -> None:
    assert doubled(1).fn(3.0) == (6.0,)


def test_op_with_an_inner_graph_runs_on_the_vm() -> None:
    x = number("x")
    assert doubled(5)(x).eval({x: 1.0}) == 32.0


def test_inner_function_is_compiled_once() -> None:
    op = doubled(1)
    assert op.fn is op.fn


def test_members_must_be_defined() -> None:
    class Missing(Op, HasInnerGraph):
        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            """Do nothing."""

    with pytest.raises(TypeError, match=r"abstract methods? .*inner_inputs.*inner_outputs"):
        Missing()  # type: ignore[abstract]  # what the test is about


def test_clone_has_an_inner_graph_of_its_own() -> None:
    op = doubled(1)
    assert op.fn(1.0) == (2.0,)
    other = op.clone()
    assert other.fgraph is not op.fgraph
    assert other.inner_outputs[0] is not op.inner_outputs[0]
    (x,) = other.inner_inputs
    other.fgraph.replace(other.inner_outputs[0], mul(x, x))
    assert other.fn(3.0) == (9.0,)
    assert op.fn(3.0) == (6.0,)


def test_op_with_a_compiled_inner_function_pickles() -> None:
    op = doubled(2)
    assert op.fn(1.0) == (2.0,)
    assert pickle.loads(pickle.dumps(op)).fn(1.0) == (2.0,)


def test_inner_compiler_can_be_exchanged() -> None:
    seen: list[Any] = []

    def compiling(fgraph: Any) -> Any:
        seen.append(fgraph)
        return lambda *values: values

    x = number("x")
    graph = FunctionGraph([x], [inverse(x)])
    INNER_COMPILER.set(compiling)
    try:
        assert compile_inner(graph)(7.0) == (7.0,)
    finally:
        INNER_COMPILER.set(None)
    assert seen == [graph]
    assert compile_inner(graph)(4.0) == (0.25,)


def test_missing_backend_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.graph.ir.inner_graph.discover", lambda _: {})
    INNER_COMPILER.set(None)
    with pytest.raises(GraphError, match=r"its backend vm is missing\. Sync the environment"):
        INNER_COMPILER.get()
