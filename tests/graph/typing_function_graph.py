"""What type checkers infer for function graphs, walks and copies. Checked by mypy; nothing here is run."""

from collections.abc import Iterator, Sequence
from typing import Any, assert_type

from treadle.graph import (
    Apply,
    Feature,
    FrozenFunctionGraph,
    FunctionGraph,
    Variable,
    apply_ancestors,
    as_string,
    clone,
    clone_replace,
    equal_computations,
    explicit_graph_inputs,
    general_toposort,
    graph_key,
    graph_replace,
    inplace_candidates,
    io_toposort,
    toposort_with_orderings,
    truncated_graph_inputs,
    walk,
)


def graphs(x: Variable, y: Variable, node: Apply, feature: Feature) -> None:
    graph = FunctionGraph([x], [y], [feature])
    assert_type(graph.inputs, list[Variable])
    assert_type(graph.outputs, list[Variable])
    assert_type(graph.toposort(), list[Apply])
    assert_type(graph.get_clients(x), list[tuple[Apply, int]])
    assert_type(graph.features, Sequence[Feature])
    assert_type(graph.clone(), FunctionGraph)
    assert_type(graph.clone_get_equiv()[0], FunctionGraph)
    assert_type(graph.collect_callbacks("validate"), dict[Feature, Any])
    assert_type(graph.checkpoint(), int)
    assert_type(graph.get_nodes(node.op), list[Apply])
    assert_type(graph.destroyers(x), list[Apply])
    assert_type(inplace_candidates(graph, [x]), list[Variable])
    frozen = graph.freeze()
    assert_type(frozen, FrozenFunctionGraph)
    assert_type(frozen.unfreeze(), FunctionGraph)
    assert_type(frozen.bind([x]), list[Variable])
    assert_type(frozen.inputs, tuple[Variable, ...])
    assert_type(frozen.stable_key(), str)


def copies(x: Variable, y: Variable) -> None:
    assert_type(clone([x], [y]), tuple[list[Variable], list[Variable]])
    assert_type(clone_replace(y, {x: y}), Variable)
    assert_type(clone_replace([y], [(x, y)]), list[Variable])
    assert_type(graph_replace(y, {x: y}), Variable)
    assert_type(graph_replace([y], {x: y}, strict=False), list[Variable])
    assert_type(equal_computations([x], [y]), bool)
    assert_type(graph_key([x], [y]), str)
    assert_type(as_string([x], [y]), list[str])


def walks(x: Variable, node: Apply) -> None:
    assert_type(list(walk([1], lambda n: [n + 1])), list[int])
    assert_type(explicit_graph_inputs(x), Iterator[Variable])
    assert_type(apply_ancestors([x]), Iterator[Apply])
    assert_type(io_toposort([], [x]), list[Apply])
    assert_type(toposort_with_orderings([x], orderings={node: [node]}), list[Apply])
    assert_type(general_toposort(["a"], lambda _: None), list[str])
    assert_type(truncated_graph_inputs([x]), list[Variable])
