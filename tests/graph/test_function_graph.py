"""FunctionGraph: import, replacement, pruning, order, features, copies."""

import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from tests.graph.arithmetic import NUMBER, Number, add, chain, div_mod, inverse, mul, number
from treadle.graph import (
    AlreadyThere,
    Apply,
    CycleError,
    Feature,
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    History,
    MissingInputError,
    NodeFinder,
    Output,
    SharedVariable,
    Variable,
    debugprint,
)


def text(graph: FunctionGraph) -> str:
    return str(debugprint(graph, file="str", id_type=""))


def graph_of(inputs: Sequence[Variable], outputs: Sequence[Variable], *features: Feature) -> FunctionGraph:
    return FunctionGraph(inputs, outputs, features, clone=False)


def test_graph_knows_its_nodes_variables_and_clients() -> None:
    x, y = number("x"), number("y")
    total = add(x, y)
    product = mul(total, x)
    graph = graph_of([x, y], [product])
    assert list(graph.apply_nodes) == [total.owner, product.owner]
    assert set(graph.variables) == {x, y, total, product}
    assert graph.get_clients(x) == [(total.owner, 0), (product.owner, 1)]
    ((client, position),) = graph.get_clients(product)
    assert (client.op, position) == (Output(0), 0)
    assert total.owner in graph
    assert number() not in graph
    assert len(graph) == 2


def test_graph_works_on_a_copy_unless_told_otherwise() -> None:
    x = number("x")
    y = inverse(x)
    graph = FunctionGraph([x], [y])
    assert graph.outputs[0] is not y
    assert graph_of([x], [y]).outputs[0] is y


def test_memo_tells_the_copies_and_takes_those_that_exist() -> None:
    x, y = number("x"), number("y")
    inner = inverse(x)
    out = add(inner, y)
    copies: dict[Any, Any] = {}
    graph = FunctionGraph([x, y], [out], memo=copies)
    assert [copies[x], copies[y], copies[out]] == [*graph.inputs, *graph.outputs]
    assert copies[inner.owner] is copies[inner].owner
    kept = number("kept")
    again = FunctionGraph([x, y], [out, inner], memo={y: kept}, copy_inputs=False)
    assert again.inputs == [x, kept]
    assert [node.inputs for node in again.toposort()] == [[x], [again.outputs[1], kept]]


def test_memo_must_be_a_dict() -> None:
    x = number("x")
    with pytest.raises(GraphTypeError, match=r"memo must hold copies .*, got \[\(x, x\)\]"):
        FunctionGraph([x], [inverse(x)], memo=[(x, x)])  # type: ignore[arg-type]  # what the test is about


def test_inputs_are_found_where_none_are_given() -> None:
    x, y = number("x"), number("y")
    assert FunctionGraph(outputs=[add(mul(x, y), 2.0)], clone=False).inputs == [y, x]


def test_shared_variables_and_constants_need_not_be_given() -> None:
    x, state = number("x"), SharedVariable(NUMBER, 1.0, name="state")
    graph = FunctionGraph([x], [add(add(x, state), 2.0)])
    assert state in graph


def test_missing_input_is_named_with_the_line_that_needs_it() -> None:
    x, y = number("x"), number("y")
    total = add(x, y)
    with pytest.raises(MissingInputError) as caught:
        FunctionGraph([x], [total])
    assert "y of type Number(1): the variable is needed by add, built at test_function_graph.py:" in str(caught.value)
    assert '"total = add(x, y)"' in str(caught.value)


def test_outputs_are_needed_and_must_be_variables() -> None:
    with pytest.raises(GraphValueError, match="no outputs are given"):
        FunctionGraph([])
    with pytest.raises(GraphTypeError, match="output 0 must be a variable, got 3"):
        FunctionGraph([], [3])  # type: ignore[list-item]  # what the test is about
    with pytest.raises(GraphTypeError, match="input 0 must be a variable, got 'x'"):
        FunctionGraph(["x"], [number()])  # type: ignore[list-item]  # what the test is about


def test_input_listed_twice_is_refused() -> None:
    x = number("x")
    with pytest.raises(GraphValueError, match="x is listed twice among the inputs"):
        graph_of([x, x], [inverse(x)])


def test_replacement_takes_over_every_client_and_prunes_what_is_unused() -> None:
    x, y = number("x"), number("y")
    old = inverse(x)
    graph = graph_of([x, y], [add(old, old), old])
    graph.replace(old, mul(x, y))
    graph.check_integrity()
    assert text(graph) == ("add 1\n ├─ mul 0\n │   ├─ x\n │   └─ y\n └─ mul 0\n     └─ ···\nmul 0\n └─ ···")
    assert old not in graph
    assert old.owner not in graph


def test_replacement_may_use_what_it_replaces() -> None:
    x = number("x")
    old = inverse(x)
    graph = graph_of([x], [add(old, old)])
    new = mul(old, 2.0)
    graph.replace(old, new)
    graph.check_integrity()
    assert graph.outputs[0].owner is not None
    assert graph.outputs[0].owner.inputs == [new, new]
    assert new.owner.inputs[0] is old


def test_pruning_keeps_inputs_and_nodes_with_other_users() -> None:
    x = number("x")
    quotient, rest = div_mod(x, 2.0)
    graph = graph_of([x], [quotient, rest])
    graph.replace(rest, x)
    assert quotient.owner in graph
    graph.replace(quotient, x)
    assert len(graph) == 0
    assert graph.inputs == [x]
    assert graph.get_clients(x) != []


def test_replacement_must_keep_the_type() -> None:
    x = number("x")
    y = inverse(x)
    graph = graph_of([x], [y])
    with pytest.raises(GraphTypeError, match=r"has type Number\(1\), which cannot become Number\(m\)"):
        graph.replace(y, Number("m").make_constant(1.0))
    with pytest.raises(GraphTypeError, match="input 0 has type"):
        graph.change_node_input(y.owner, 0, Number("m").make_constant(1.0))


def test_replacing_a_variable_that_is_not_in_the_graph_does_nothing() -> None:
    x = number("x")
    graph = graph_of([x], [inverse(x)])
    graph.replace(number("other"), x)
    assert text(graph) == "Inverse 0\n └─ x"


def test_failed_import_leaves_the_graph_as_it_was() -> None:
    x = number("x")
    y = inverse(x)
    graph = graph_of([x], [y])
    before = text(graph)
    with pytest.raises(MissingInputError, match="other"):
        graph.replace(y, add(mul(x, x), number("other")))
    graph.check_integrity()
    assert text(graph) == before
    assert len(graph) == 1


def test_missing_inputs_become_inputs_where_that_is_allowed() -> None:
    x, other = number("x"), number("other")
    y = inverse(x)
    graph = graph_of([x], [y])
    with pytest.raises(MissingInputError, match="other"):
        graph.change_node_input(y.owner, 0, inverse(other))
    graph.change_node_input(y.owner, 0, inverse(other), import_missing=True)
    assert graph.inputs == [x, other]
    graph.check_integrity()


def test_replace_all_replaces_pair_by_pair() -> None:
    x = number("x")
    a, b = inverse(x), mul(x, x)
    graph = graph_of([x], [add(a, b)])
    graph.replace_all([(a, x), (b, x)])
    assert text(graph) == "add 0\n ├─ x\n └─ x"


def test_cycle_is_an_error_that_names_a_node_and_its_line() -> None:
    x = number("x")
    first = inverse(x)
    second = inverse(first)
    first.owner.inputs[0] = second
    with pytest.raises(CycleError, match=r"a cycle through this node, built at test_function_graph.py:\d+"):
        FunctionGraph([x], [second], clone=False)


def test_order_puts_every_node_after_those_it_needs() -> None:
    x = number("x")
    out = chain(x, 50)
    order = graph_of([x], [out]).toposort()
    place = {node: i for i, node in enumerate(order)}
    assert len(order) == 50
    assert all(v.owner is None or place[v.owner] < place[node] for node in order for v in node.inputs)


class Before(Feature):
    """Puts one node before another."""

    def __init__(self, first: Apply, second: Apply) -> None:
        self.first, self.second = first, second

    def orderings(self, fgraph: FunctionGraph) -> dict[Apply, Sequence[Apply]]:
        return {self.second: [self.first]}


def test_features_can_order_nodes_beyond_the_flow_of_data() -> None:
    x = number("x")
    a, b = inverse(x), mul(x, x)
    for first, second in ((a.owner, b.owner), (b.owner, a.owner)):
        graph = graph_of([x], [add(a, b)], Before(first, second))
        order = graph.toposort()
        assert order.index(first) < order.index(second)
        assert len(order) == 3


def test_contradicting_orderings_are_a_cycle() -> None:
    x = number("x")
    a = inverse(x)
    b = mul(a, a)
    graph = graph_of([x], [b], Before(b.owner, a.owner))
    with pytest.raises(CycleError, match="orderings contradict each other"):
        graph.toposort()


class Log(Feature):
    """Records every callback."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def on_attach(self, fgraph: FunctionGraph) -> None:
        if self.events:
            raise AlreadyThere("log: attached already. Attach it once.")  # noqa: EM101, TRY003 - a test's own feature
        self.events.append(("attach",))

    def on_detach(self, fgraph: FunctionGraph) -> None:
        self.events.append(("detach",))

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        self.events.append(("import", str(node.op), reason))

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        self.events.append(("prune", str(node.op), reason))

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, old: Variable, new: Variable, reason: str | None
    ) -> None:
        self.events.append(("change", str(node.op), i, str(old), str(new), reason))

    def validate(self, fgraph: FunctionGraph) -> None:
        self.events.append(("validate",))


def test_features_hear_of_every_change() -> None:
    x = number("x")
    y = inverse(x)
    log = Log()
    graph = graph_of([x], [add(y, x)], log)
    graph.replace(y, mul(x, x, name="square"), reason="shorter")
    graph.validate()
    graph.remove_feature(log)
    graph.replace(graph.outputs[0], x)
    assert log.events == [
        ("attach",),
        ("import", "mul", "shorter"),
        ("change", "add", 0, "Inverse.out", "square", "shorter"),
        ("prune", "Inverse", "shorter"),
        ("validate",),
        ("detach",),
    ]


def test_feature_that_is_there_already_is_attached_once() -> None:
    x = number("x")
    log = Log()
    graph = graph_of([x], [inverse(x)], log)
    graph.attach_feature(log)
    assert graph.features == (log,)
    other = graph_of([x], [inverse(x)])
    other.attach_feature(log)
    assert other.features == ()


def test_callbacks_can_be_collected() -> None:
    x = number("x")
    log = Log()
    graph = graph_of([x], [inverse(x)], log)
    assert graph.collect_callbacks("orderings") == {log: {}}


def test_node_finder_follows_changes() -> None:
    x = number("x")
    y = inverse(x)
    finder = NodeFinder()
    graph = graph_of([x], [add(y, mul(y, y))], finder)
    assert finder.get_nodes(inverse) == [y.owner]
    graph.replace(y, mul(x, x))
    assert finder.get_nodes(inverse) == []
    assert len(finder.get_nodes(mul)) == 2


def test_history_reverts_to_a_checkpoint() -> None:
    x = number("x")
    y = inverse(x)
    history = History()
    graph = graph_of([x], [add(y, y), y], history)
    before = text(graph)
    start = history.checkpoint(graph)
    graph.replace(y, mul(x, x))
    middle = history.checkpoint(graph)
    after_one = text(graph)
    graph.replace(graph.outputs[0], x)
    history.revert(graph, middle)
    assert text(graph) == after_one
    history.revert(graph, start)
    graph.check_integrity()
    assert text(graph) == before


def test_clone_is_equal_and_independent() -> None:
    x, y = number("x"), number("y")
    graph = graph_of([x, y], [add(mul(x, y), 2.0)])
    copy, equiv = graph.clone_get_equiv(check_integrity=True)
    assert copy.equals(graph)
    assert equiv[graph.outputs[0]] is copy.outputs[0]
    copy.replace(copy.outputs[0], copy.inputs[0])
    assert not copy.equals(graph)
    assert len(graph) == 2


def test_graphs_are_equal_by_structure_with_inputs_matched_by_position() -> None:
    x, y = number("x"), number("y")
    assert graph_of([x, y], [add(x, y)]).equals(graph_of([y, x], [add(y, x)]))
    assert not graph_of([x, y], [add(x, y)]).equals(graph_of([x, y], [add(y, x)]))


def test_pickled_graph_keeps_structure_features_and_tags() -> None:
    x = number("x")
    graph = FunctionGraph([x], [add(inverse(x), x)], [NodeFinder()], update_mapping={0: 0})
    graph.tag["note"] = "mine"
    loaded = pickle.loads(pickle.dumps(graph))
    loaded.check_integrity()
    assert loaded.equals(graph)
    assert (loaded.update_mapping, loaded.tag) == ({0: 0}, {"note": "mine"})
    assert len(loaded.features[0].get_nodes(inverse)) == 1


def test_integrity_check_finds_a_client_that_is_not_listed() -> None:
    x, y = number("x"), number("y")
    out = add(x, y)
    graph = graph_of([x, y], [out])
    out.owner.inputs[0] = y
    with pytest.raises(GraphValueError, match="not listed as a client"):
        graph.check_integrity()


def test_integrity_check_finds_a_node_that_was_never_imported() -> None:
    x = number("x")
    out = inverse(x)
    graph = graph_of([x], [out])
    graph.outputs[0] = inverse(out)
    with pytest.raises(GraphValueError, match="never imported"):
        graph.check_integrity()
    graph.outputs[0] = x
    with pytest.raises(GraphValueError, match="output 0 is not listed"):
        graph.check_integrity()


def test_graph_shows_inputs_outputs_and_size() -> None:
    x = number("x")
    assert repr(graph_of([x], [inverse(x)])) == "FunctionGraph([x] -> [Inverse.out], 1 nodes)"
