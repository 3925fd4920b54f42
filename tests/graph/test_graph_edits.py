"""Adding and removing inputs, outputs and nodes, and unusual function graphs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.graph.arithmetic import NUMBER, Number, add, chain, div_mod, inverse, mul, number
from tests.graph.memory import state_of
from treadle.graph import (
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    History,
    MissingInputError,
    Output,
    SharedVariable,
    Variable,
)


def graph_of(inputs: list[Variable], outputs: list[Variable]) -> FunctionGraph:
    return FunctionGraph(inputs, outputs, clone=False)


def test_same_output_twice_inputs_and_constants_as_outputs_and_unused_inputs() -> None:
    x, unused, one = number("x"), number("unused"), NUMBER.make_constant(1.0)
    y = inverse(x)
    graph = graph_of([x, unused], [y, y, x, one, one])
    graph.check_integrity()
    assert [(str(n.op), i) for n, i in graph.get_clients(y)] == [("Output(idx=0)", 0), ("Output(idx=1)", 0)]
    assert graph.get_clients(unused) == []
    graph.replace(y, x)
    assert graph.outputs == [x, x, x, one, one]
    graph.remove_output(0)
    assert [n.op for n, _ in graph.get_clients(x)] == [Output(1), Output(0)]
    graph.remove_output(2)
    graph.remove_output(2)
    assert one not in graph
    graph.check_integrity()
    copy = graph.clone(check_integrity=True)
    assert copy.equals(graph)
    assert len(copy) == 0


def test_removed_output_takes_along_what_it_alone_needed() -> None:
    x, y = number("x"), number("y")
    shared_part = inverse(x)
    graph = graph_of([x, y], [add(shared_part, y), mul(shared_part, 2.0)])
    graph.update_mapping = {0: 1, 1: 0}
    graph.remove_output(1)
    assert [str(node.op) for node in graph.toposort()] == ["Inverse", "add"]
    assert graph.update_mapping == {0: 1}
    graph.check_integrity()
    with pytest.raises(GraphValueError, match="there is no output 1, there are 1"):
        graph.remove_output(1)


def test_removed_input_takes_along_what_depends_on_it() -> None:
    x, y = number("x"), number("y")
    graph = graph_of([x, y], [inverse(y), add(inverse(x), y), x, mul(y, y)])
    graph.update_mapping = {0: 0, 3: 1}
    graph.remove_input(0)
    assert graph.inputs == [y]
    assert [str(out.owner) for out in graph.outputs] == ["Inverse(y)", "mul(y, y)"]
    assert graph.update_mapping == {1: 0}
    assert x not in graph
    graph.check_integrity()
    with pytest.raises(GraphValueError, match="there is no input -1"):
        graph.remove_input(-1)


def test_removed_node_takes_along_its_users_and_what_they_alone_needed() -> None:
    x, y = number("x"), number("y")
    quotient, rest = div_mod(x, y)
    graph = graph_of([x, y], [mul(quotient, inverse(y)), add(rest, x), inverse(x)])
    graph.remove_node(quotient.owner)
    assert [str(node) for node in graph.apply_nodes] == ["Inverse(x)"]
    graph.check_integrity()
    with pytest.raises(GraphValueError, match="DivMod is not a node of the graph, built at"):
        graph.remove_node(quotient.owner)


def test_variable_that_is_computed_can_become_an_input() -> None:
    x = number("x")
    inner = inverse(x)
    graph = graph_of([x], [add(inner, inner)])
    graph.add_input(inner)
    assert graph.inputs == [x, inner]
    assert inner.owner not in graph
    graph.check_integrity()
    graph.add_input(inner, check=False)
    assert len(graph.inputs) == 2
    with pytest.raises(GraphValueError, match="listed twice"):
        graph.add_input(inner)
    with pytest.raises(GraphTypeError, match="new input 0 must be a variable, got 3"):
        graph.add_input(3)  # type: ignore[arg-type]  # what the test is about


def test_variables_and_nodes_are_imported_without_being_used() -> None:
    x, y, z = number("x"), number("y"), number("z")
    graph = graph_of([x, y], [x])
    total = add(mul(x, y), 1.0)
    graph.import_var(total)
    assert [str(node.op) for node in graph.toposort()] == ["mul", "add"]
    graph.import_node(total.owner)
    graph.check_integrity()
    later = inverse(z)
    with pytest.raises(MissingInputError, match="z of type"):
        graph.import_node(later.owner)
    graph.import_node(later.owner, check=False)
    assert graph.inputs == [x, y]
    graph.import_var(number("w"), import_missing=True)
    assert [str(v) for v in graph.inputs] == ["x", "y", "w"]
    graph.import_var(SharedVariable(NUMBER, 1.0, name="state"))
    with pytest.raises(MissingInputError):
        graph.import_var(number("other"))


def test_variables_nodes_and_clients_are_listed_by_hand() -> None:
    x, y = number("x"), number("y")
    graph = graph_of([x], [x])
    node = add(x, y).owner
    with pytest.raises(GraphValueError, match=r"add: the input y is not in the graph, built at"):
        graph.setup_node(node)
    graph.setup_var(y)
    graph.setup_node(node)
    assert graph.get_clients(y) == [(node, 1)]
    graph.remove_client(y, (node, 1))
    assert graph.get_clients(y) == []
    with pytest.raises(GraphValueError, match="not listed as a client"):
        graph.check_integrity()
    graph.add_client(y, (node, 1))
    graph.add_client(y, (node, 1))
    graph.check_integrity()
    with pytest.raises(GraphValueError, match=r"input 0 of add is not y in this graph\. Use change_node_input"):
        graph.add_client(y, (node, 0))
    graph.remove_client(y, (node, 0))
    constant = NUMBER.make_constant(2.0)
    graph.import_var(constant)
    user = inverse(constant).owner
    graph.import_node(user)
    graph.remove_client(constant, (user, 0), remove_if_empty=True)
    assert constant not in graph


def test_listing_by_hand_can_be_reverted() -> None:
    x, y = number("x"), number("y")
    graph = FunctionGraph([x], [inverse(x)], [History()], clone=False)
    (node,) = graph.apply_nodes
    start, before = graph.checkpoint(), state_of(graph)
    graph.setup_var(y)
    graph.remove_client(x, (node, 0))
    graph.add_client(x, (node, 0))
    graph.revert(start)
    assert state_of(graph) == before
    graph.check_integrity()


def test_clients_read_like_a_list_and_a_set() -> None:
    x = number("x")
    total = add(x, x)
    graph = graph_of([x], [total, mul(x, 2.0)])
    clients = graph.clients[x]
    assert clients == [(total.owner, 0), (total.owner, 1), (graph.outputs[1].owner, 0)]
    assert clients[1] == (total.owner, 1)
    assert clients[-1:] == [(graph.outputs[1].owner, 0)]
    assert (total.owner, 0) in clients
    assert clients != graph.clients[total]
    assert (clients == 3) is False
    assert repr(clients) == repr(list(clients))
    assert clients[total.owner, 0] < clients[total.owner, 1]
    with pytest.raises(GraphValueError, match="other of type Number\\(1\\) is not in the graph"):
        graph.get_clients(number("other"))


def test_edits_of_what_is_not_there_are_refused() -> None:
    x = number("x")
    y = inverse(x)
    graph = graph_of([x], [y])
    with pytest.raises(GraphValueError, match="mul is not a node of the graph, built at"):
        graph.change_node_input(mul(x, x).owner, 0, x)
    with pytest.raises(GraphValueError, match="there is no input 1, there are 1"):
        graph.change_node_input(y.owner, 1, x)
    with pytest.raises(GraphTypeError, match="replacement 1 must be a variable, got 'x'"):
        graph.replace(y, "x")  # type: ignore[arg-type]  # what the test is about
    stray: Any = Output(0).make_node(y)
    with pytest.raises(GraphValueError, match=r"Output\(idx=0\) is not a node"):
        graph.change_node_input(stray, 0, x)
    with pytest.raises(GraphTypeError, match="must be a variable"):
        graph.add_output(None)  # type: ignore[arg-type]  # what the test is about


def test_output_changes_like_an_input_of_its_stand_in() -> None:
    x = number("x")
    y = inverse(x)
    graph = graph_of([x], [y, y])
    (first, _), (second, _) = graph.get_clients(y)
    graph.change_node_input(second, 0, x)
    assert graph.outputs == [y, x]
    graph.change_node_input(first, 0, mul(x, x))
    assert y not in graph
    graph.check_integrity()


def test_type_may_be_refined_unless_checks_are_left_out() -> None:
    x, metre = number("x"), Number("m")("metre")
    graph = graph_of([x, metre], [inverse(x)])
    (node,) = graph.apply_nodes
    with pytest.raises(GraphTypeError):
        graph.change_node_input(node, 0, metre)
    graph.change_node_input(node, 0, metre, check=False)
    assert node.inputs == [metre]


def test_graphs_are_equal_only_to_themselves_and_have_keys_by_structure() -> None:
    def build() -> FunctionGraph:
        x = number("x")
        return graph_of([x], [add(inverse(x), 2.0)])

    one, two = build(), build()
    assert one != two
    assert one.equals(two)
    assert one.stable_key() == two.stable_key()
    two.replace(two.outputs[0], two.inputs[0])
    assert one.stable_key() != two.stable_key()


def test_integrity_check_finds_each_disagreement() -> None:
    def broken(change: Any) -> FunctionGraph:
        x, y = number("x"), number("y")
        graph = graph_of([x, y], [add(inverse(x), y)])
        change(graph)
        return graph

    cases = {
        "is listed as a client of": lambda g: g.clients[g.inputs[1]].update({(g.toposort()[0], 0): 99}),
        "is not among the variables": lambda g: g.clients.pop(g.toposort()[0].outputs[0]),
        "the list of inputs was changed": lambda g: g.inputs.pop(),
        "not listed as a client": lambda g: g.clients[g.inputs[0]].clear(),
    }
    for message, change in cases.items():
        with pytest.raises(GraphValueError, match=message):
            broken(change).check_integrity()


def test_long_chains_and_wide_sums_pass_through_every_edit(length: int, width: int) -> None:
    x, y = number("x"), number("y")
    wide = [inverse(x) for _ in range(width)]
    total = wide[0]
    for term in wide[1:]:
        total = add(total, term)
    graph = FunctionGraph([x, y], [chain(x, length), total], [History()], clone=False)
    order = graph.toposort()
    start = graph.checkpoint()
    graph.replace(x, y)
    graph.check_integrity()
    graph.remove_node(next(iter(node for node in order if node.op == inverse)))
    graph.remove_output(0)
    assert len(graph) == 0
    graph.revert(start)
    assert graph.toposort() == order
    graph.remove_input(0)
    assert len(graph) == 0
    graph.revert(start)
    with pytest.raises(MissingInputError):
        graph.replace(y, add(chain(number("other"), length), 1.0))
    graph.add_output(chain(number("other"), length), import_missing=True)
    assert len(graph.inputs) == 3
    graph.check_integrity()
