"""Ops that work in place or return views, and a picture of a graph's whole state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.graph.arithmetic import Arithmetic
from treadle.graph import Apply, FunctionGraph, Type


class AddInto(Arithmetic):
    """The sum of two numbers, written over the first."""

    __props__ = ()
    destroy_map = {0: [0]}  # noqa: RUF012 - as the documentation writes it

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0] + inputs[1]


class AddIntoAnything(AddInto):
    """As AddInto, for two inputs that may be the same variable."""

    destroyhandler_tolerate_same = ((0, 1),)


class AddIntoAliased(AddInto):
    """As AddInto, for two inputs that may share memory."""

    destroyhandler_tolerate_aliased = ((0, 1),)


class Choose(Arithmetic):
    """One of two numbers, as a view: an op whose output is a view of either input."""

    __props__ = ()
    view_map = {0: [0, 1]}  # noqa: RUF012 - as the documentation writes it

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = max(inputs)


class Split(Arithmetic):
    """A number twice: first as a view, then written over."""

    __props__ = ()
    view_map = {0: [0]}  # noqa: RUF012 - as the documentation writes it
    destroy_map = {1: [1]}  # noqa: RUF012 - as the documentation writes it

    def infer(self, *types: Type) -> Sequence[Type]:
        return [types[0], types[0]]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0]
        output_storage[1][0] = -inputs[1]


add_into = AddInto()
add_into_anything = AddIntoAnything()
add_into_aliased = AddIntoAliased()
choose = Choose()
split = Split()


def state_of(graph: FunctionGraph) -> dict[str, Any]:
    """Return the observable state of a graph; the order of evaluation only where there is one."""
    return {
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "nodes": list(graph.apply_nodes),
        "clients": {var: graph.get_clients(var) for var in graph.variables},
        "node inputs": {node: list(node.inputs) for node in graph.apply_nodes},
        "update mapping": graph.update_mapping,
    }
