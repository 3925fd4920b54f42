"""Features of copied graphs, and features that are given to a second graph."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.graph.arithmetic import add, inverse, number
from tests.graph.memory import AddInto
from treadle.graph import DestroyHandler, FunctionGraph, GraphValueError, InconsistencyError, NodeFinder, Supervisor


def graph_of() -> FunctionGraph:
    x = number("x")
    return FunctionGraph([x], [add(inverse(x), x)], clone=False)


def test_finder_of_one_graph_is_not_attached_to_another() -> None:
    finder = NodeFinder()
    graph, other = graph_of(), graph_of()
    graph.attach_feature(finder)
    with pytest.raises(GraphValueError, match="NodeFinder: the feature belongs to another graph"):
        other.attach_feature(finder)
    graph.remove_feature(finder)
    other.attach_feature(finder)
    node = other.toposort()[0]
    assert node in other.get_nodes(node.op)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda graph: graph.clone_get_equiv()[0]])
def test_supervisor_of_a_copy_protects_the_variables_of_the_copy(copied: Any) -> None:
    graph = graph_of()
    graph.attach_feature(DestroyHandler())
    graph.attach_feature(Supervisor(graph.inputs))
    new = copied(graph)
    assert not set(new.apply_nodes) & set(graph.apply_nodes)
    new.replace(new.outputs[0], AddInto()(new.inputs[0], 1.0))
    with pytest.raises(InconsistencyError, match="which is protected"):
        new.validate()
    graph.validate()
