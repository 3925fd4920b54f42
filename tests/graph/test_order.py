"""The maintained order of evaluation: correct after every edit, at a cost that does not grow with the graph."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.graph.arithmetic import add, chain, div_mod, inverse, mul, number
from treadle.graph import (
    Apply,
    CycleError,
    Feature,
    FunctionGraph,
    History,
    Variable,
    io_toposort,
    toposort_with_orderings,
)


def ordered_chain(length: int) -> tuple[Variable, FunctionGraph, list[Apply]]:
    x = number("x")
    graph = FunctionGraph([x], [chain(x, length)], clone=False)
    return x, graph, graph.toposort()


def is_ordered(graph: FunctionGraph) -> bool:
    place = {node: i for i, node in enumerate(graph.toposort())}
    return place.keys() == set(graph.apply_nodes) and all(
        v.owner is None or place[v.owner] < place[node] for node in place for v in node.inputs
    )


def test_local_replacements_in_a_long_chain_look_at_few_nodes_each() -> None:
    x, graph, order = ordered_chain(6_000)
    counts = graph.order_statistics
    assert (counts.rebuilds, counts.visited) == (1, 0)
    most = 0
    for node in order[::6]:
        visited, placed = counts.visited, counts.placed
        graph.replace(node.outputs[0], mul(node.inputs[0], x))
        graph.repair_order()
        most = max(most, counts.visited - visited + counts.placed - placed)
    assert (counts.rebuilds, counts.repairs) == (1, 1_000)
    assert most <= 2
    assert is_ordered(graph)


def test_edge_that_points_backwards_moves_only_what_lies_between() -> None:
    x, graph, order = ordered_chain(5_000)
    counts = graph.order_statistics
    beside = inverse(x)
    graph.add_output(beside)
    graph.repair_order()
    for start in range(1_000, 4_800, 100):
        visited = counts.visited
        # The other node now needs one of the chain, and a later one of the chain needs it.
        graph.change_node_input(beside.owner, 0, order[start].outputs[0])
        graph.change_node_input(order[start + 20], 1, beside)
        graph.repair_order()
        assert counts.visited - visited <= 4
        graph.change_node_input(order[start + 20], 1, x)
    assert counts.rebuilds == 1
    assert is_ordered(graph)


def test_work_of_wide_graphs_stays_near_the_edit() -> None:
    x = number("x")
    leaves = [add(x, float(i)) for i in range(4_000)]
    total = leaves[0]
    for leaf in leaves[1:]:
        total = add(total, leaf)
    graph = FunctionGraph([x], [total], clone=False)
    graph.toposort()
    counts = graph.order_statistics
    for leaf in leaves[::20]:
        graph.replace(leaf, mul(x, 2.0))
        graph.repair_order()
    assert counts.rebuilds == 1
    assert counts.visited <= 200
    assert counts.edges <= 2_000
    assert is_ordered(graph)


def test_many_edits_at_once_are_answered_by_one_sort() -> None:
    x, graph, order = ordered_chain(2_000)
    for node in order:
        graph.replace(node.outputs[0], mul(node.inputs[0], x))
    assert is_ordered(graph)
    assert graph.order_statistics.rebuilds == 2
    assert graph.order_statistics.visited == 0


def test_nothing_is_done_where_nothing_changed() -> None:
    _, graph, order = ordered_chain(100)
    assert graph.toposort() == order
    assert (graph.order_statistics.rebuilds, graph.order_statistics.repairs) == (1, 0)
    assert repr(graph.order_statistics).startswith("OrderStatistics(edges=0, placed=0, rebuilds=1")


def test_insertions_at_one_place_find_room() -> None:
    _, graph, order = ordered_chain(3_000)
    node = order[1_500]
    for _ in range(300):
        graph.change_node_input(node, 1, inverse(node.inputs[1]))
        graph.repair_order()
    assert graph.order_statistics.rebuilds == 1
    assert 0 < graph.order_statistics.relabelled < 300 * 30
    assert is_ordered(graph)


def test_order_is_the_same_for_the_same_edits() -> None:
    def edited() -> list[str]:
        x, graph, order = ordered_chain(400)
        for i, node in enumerate(order[::10]):
            graph.replace(node.outputs[0], mul(add(node.inputs[0], float(i)), x))
            graph.repair_order()
        return [f"{node.op} {node.inputs[1]}" for node in graph.toposort()]

    assert edited() == edited()


@pytest.mark.parametrize("length", [3, 3_000])
def test_cycle_names_the_nodes_and_the_graph_can_be_mended(length: int) -> None:
    x, graph, order = ordered_chain(length)
    first, last = order[0], order[-1]
    middle = order[length // 2]
    graph.change_node_input(middle, 1, last.outputs[0])
    with pytest.raises(CycleError, match=r"a cycle through this node, built at arithmetic\.py.*Take back") as caught:
        graph.toposort()
    assert set(caught.value.nodes) == set(order[length // 2 :])
    with pytest.raises(CycleError):
        graph.toposort()
    graph.change_node_input(middle, 1, x)
    assert is_ordered(graph)
    assert first in graph


def test_node_cannot_need_itself() -> None:
    _, graph, order = ordered_chain(3)
    node = order[1]
    with pytest.raises(CycleError, match="add -> add"):
        graph.change_node_input(node, 0, node.outputs[0])
    with pytest.raises(CycleError):
        graph.replace(order[0].outputs[0], node.outputs[0])
    assert graph.toposort() == order
    graph.check_integrity()


class Kept(Feature):
    """Keeps its orderings in the graph."""

    keeps_orderings = True

    def __init__(self, *pairs: tuple[Apply, Apply]) -> None:
        self.pairs = pairs

    def on_attach(self, fgraph: FunctionGraph) -> None:
        for first, second in self.pairs:
            fgraph.add_ordering(first, second)

    def on_detach(self, fgraph: FunctionGraph) -> None:
        for first, second in self.pairs:
            fgraph.remove_ordering(first, second)

    def orderings(self, fgraph: FunctionGraph) -> dict[Apply, Sequence[Apply]]:
        raise AssertionError


@pytest.mark.parametrize("length", [2, 1_000])
def test_orderings_of_features_take_part(length: int) -> None:
    x = number("x")
    a, b = chain(x, length), chain(x, length)
    graph = FunctionGraph([x], [a, b], clone=False)
    order = graph.toposort()
    (last_a, first_b), last_b = order[length - 1 : length + 1], order[-1]
    feature = Kept((last_b, order[0]))
    graph.attach_feature(feature)
    assert graph.toposort() == [*order[length:], *order[:length]]
    graph.remove_feature(feature)
    assert is_ordered(graph)
    contradiction = Kept((last_a, first_b), (last_b, order[0]))
    graph.attach_feature(contradiction)
    with pytest.raises(CycleError) as caught:
        graph.toposort()
    assert {last_a, first_b, last_b, order[0]} <= set(caught.value.nodes)
    graph.remove_feature(contradiction)
    assert is_ordered(graph)


def test_ordering_of_a_node_that_left_is_ignored() -> None:
    x, graph, order = ordered_chain(600)
    beside = inverse(x)
    graph.add_output(beside)
    graph.attach_feature(Kept((beside.owner, order[0])))
    graph.remove_output(1)
    assert graph.toposort() == order
    graph.replace_all([(node.outputs[0], mul(node.inputs[0], x)) for node in order[::2]])
    assert is_ordered(graph)


def test_reverted_sort_and_repairs_give_the_old_order() -> None:
    x, graph, order = ordered_chain(200)
    graph.attach_feature(History())
    start = graph.checkpoint()
    graph.replace(order[10].outputs[0], mul(x, x))
    graph.toposort()
    middle = graph.checkpoint()
    halfway = graph.toposort()
    for node in order[50:150]:
        graph.replace(node.outputs[0], mul(node.inputs[0], x))
    graph.toposort()
    assert graph.order_statistics.rebuilds == 2
    graph.revert(middle)
    assert graph.toposort() == halfway
    graph.revert(start)
    assert graph.toposort() == order


def test_orders_under_conditions_and_clients_of_plain_graphs() -> None:
    x, y = number("x"), number("y")
    a, b = inverse(x), mul(x, y)
    out = add(a, b)
    assert io_toposort([x, y], [out]) == [a.owner, b.owner, out.owner]
    clients: dict[Variable, list[Apply]] = {}
    assert io_toposort([x, y], [out], {a.owner: [b.owner]}, clients) == [b.owner, a.owner, out.owner]
    assert clients == {x: [b.owner, a.owner], y: [b.owner], a: [out.owner], b: [out.owner]}
    assert toposort_with_orderings([out], blockers=[b], orderings={out.owner: [a.owner]}) == [a.owner, out.owner]
    with pytest.raises(CycleError, match="Inverse -> add -> Inverse"):
        toposort_with_orderings([out], orderings={a.owner: [out.owner]})


def test_given_variable_that_another_node_computes_makes_no_edge() -> None:
    x = number("x")
    quotient, rest = div_mod(x, 2.0)
    graph = FunctionGraph([x, quotient], [add(quotient, x), rest], clone=False)
    graph.check_integrity()
    # The node needs a value computed from its own other output, which is given: no cycle.
    graph.change_node_input(rest.owner, 1, graph.outputs[0])
    assert [str(node.op) for node in graph.toposort()] == ["add", "DivMod"]
    graph.remove_output(1)
    assert rest.owner not in graph
    assert quotient in graph
