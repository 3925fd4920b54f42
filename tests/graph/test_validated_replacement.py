"""Validated replacement and checkpoints that every graph has, whether or not a feature gives them."""

from __future__ import annotations

import pytest

from tests.graph.arithmetic import add, mul, number
from treadle.graph import Feature, FunctionGraph, History, InconsistencyError, ReplaceValidate, Validator


class NoMul(Feature):
    """Refuses products."""

    def validate(self, fgraph: FunctionGraph) -> None:
        if any(node.op == mul for node in fgraph.apply_nodes):
            msg = "no products: there is one. Use sums."
            raise InconsistencyError(msg)


def graph_of(*features: Feature) -> FunctionGraph:
    x, y = number("x"), number("y")
    return FunctionGraph([x, y], [add(x, y)], list(features))


def test_graph_has_the_methods_of_validated_replacement_without_a_feature() -> None:
    graph = graph_of()
    old, new = graph.outputs[0], graph.inputs[0]
    assert graph.consistent()
    start = graph.checkpoint()
    graph.replace_validate(old, new, "shorter")
    assert graph.outputs[0] is new
    graph.revert(start)
    assert graph.outputs[0] is old
    graph.replace_all_validate([(old, new)])
    graph.revert(start)
    assert graph.replace_all_validate_remove([(old, new)], [old.owner], "shorter")
    with pytest.raises(AttributeError, match="'FunctionGraph' object has no attribute 'replaced'"):
        graph.replaced  # type: ignore[attr-defined]  # that is the point  # noqa: B018


@pytest.mark.parametrize("kind", [History, ReplaceValidate, Validator])
def test_methods_on_demand_stand_beside_features_that_give_some_of_them(kind: type[Feature]) -> None:
    graph = graph_of(kind())
    graph.replace_validate(graph.outputs[0], graph.inputs[0])
    graph.revert(graph.checkpoint())
    other = graph_of()
    other.revert(other.checkpoint())
    other.attach_feature(kind())
    other.revert(other.checkpoint())
    assert other.consistent()


def test_refused_replacement_leaves_the_graph_as_it_was() -> None:
    graph = graph_of(NoMul())
    before = graph.outputs[0]
    with pytest.raises(InconsistencyError):
        graph.replace_validate(before, mul(graph.inputs[0], 2.0))
    assert graph.outputs[0] is before
