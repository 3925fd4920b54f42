"""Features: histories, validation, preservation of names, and what happens when one of them fails."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from tests.graph.arithmetic import add, chain, div_mod, inverse, mul, number
from tests.graph.memory import state_of
from treadle.config import TreadleWarning
from treadle.graph import (
    AlreadyThere,
    Apply,
    Bookkeeper,
    CycleError,
    Feature,
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    History,
    InconsistencyError,
    NodeFinder,
    PreserveNames,
    PreserveVariableAttributes,
    ReplaceValidate,
    ShapeFeature,
    Validator,
    Variable,
)
from treadle.surface.full_history import FullHistory


def graph_of(*features: Feature) -> FunctionGraph:
    x, y = number("x"), number("y")
    return FunctionGraph([x, y], [add(inverse(x), mul(x, y)), inverse(y)], features, clone=False)


def first_node(graph: FunctionGraph) -> Apply:
    return graph.toposort()[0]


def inputs_of(var: Variable) -> list[Variable]:
    assert var.owner is not None
    return var.owner.inputs


# History


def test_revert_restores_inputs_outputs_and_mapping_too() -> None:
    graph = graph_of(History())
    graph.update_mapping = {0: 1, 1: 0}
    before, order = state_of(graph), graph.toposort()
    start = graph.checkpoint()
    graph.add_input(number("z"))
    graph.remove_output(0)
    graph.add_output(mul(graph.inputs[0], graph.inputs[2]))
    graph.remove_input(1)
    assert graph.update_mapping == {}
    graph.remove_node(first_node(graph))
    assert graph.outputs == []
    graph.revert(start)
    assert state_of(graph) == before
    assert graph.toposort() == order
    graph.check_integrity()


def test_checkpoints_can_be_reverted_to_again_but_not_those_after_them() -> None:
    graph = graph_of(History())
    start = graph.checkpoint()
    graph.replace(graph.outputs[1], graph.inputs[0])
    later = graph.checkpoint()
    for _ in range(2):
        graph.replace(graph.outputs[0], graph.inputs[1])
        graph.revert(start)
        assert len(graph) == 4
    with pytest.raises(GraphValueError, match="is no checkpoint of this graph, or was taken after one"):
        graph.revert(later)


def test_checkpoint_of_a_graph_with_a_cycle_can_be_reverted_to() -> None:
    graph = graph_of(History())
    x = graph.inputs[0]
    far = chain(x, 50)
    graph.add_output(far)
    order = graph.toposort()
    graph.change_node_input(order[-50], 1, far)
    start = graph.checkpoint()
    graph.change_node_input(order[-50], 1, x)
    graph.toposort()
    graph.revert(start)
    with pytest.raises(CycleError):
        graph.toposort()


def test_history_installs_its_methods_and_takes_them_away() -> None:
    history = History()
    graph = graph_of(history)
    graph.attach_feature(ReplaceValidate())
    assert graph.features == (history,)
    graph.remove_feature(history)
    assert "checkpoint" not in vars(graph)
    graph.attach_feature(ReplaceValidate())
    graph.revert(graph.checkpoint())


def test_pickles_and_copies_begin_new_histories() -> None:
    graph = graph_of(History())
    start = graph.checkpoint()
    for copy in (pickle.loads(pickle.dumps(graph)), graph.clone_get_equiv()[0]):
        with pytest.raises(GraphValueError):
            copy.revert(start)
        begin = copy.checkpoint()
        copy.replace(copy.outputs[0], copy.inputs[0])
        copy.revert(begin)
        assert copy.equals(graph)


# FullHistory


def test_full_history_goes_back_and_forth() -> None:
    history = FullHistory()
    graph = graph_of(history)
    x, y = graph.inputs
    states = [state_of(graph)]
    for node, new in ((first_node(graph), y), (graph.toposort()[1], y)):
        graph.change_node_input(node, 0, new, reason="mine")
        states.append(state_of(graph))
    graph.change_node_input(graph.toposort()[-1], 0, mul(x, x))
    states.append(state_of(graph))
    assert [entry.reason for entry in history.entries] == ["mine", "mine", None]
    assert history.start() is graph
    assert (state_of(graph), history.pointer) == (states[0], -1)
    for state in states[1:]:
        assert state_of(history.next()) == state
    assert state_of(history.next()) == states[-1]
    for state in states[-2::-1]:
        assert state_of(history.prev()) == state
    assert state_of(history.prev()) == states[0]
    assert state_of(history.end()) == states[-1]
    assert state_of(history.goto(1)) == states[2]
    graph.check_integrity()


def test_full_history_steps_through_a_replacement_with_several_users() -> None:
    x = number("x")
    shared = inverse(x)
    history = FullHistory()
    graph = FunctionGraph([x], [add(shared, shared)], [history], clone=False)
    before = state_of(graph)
    graph.replace(shared, mul(x, x))
    after = state_of(graph)
    assert len(history.entries) == 2
    history.goto(0)
    graph.check_integrity()
    assert [str(v.owner) for v in inputs_of(graph.outputs[0])] == ["mul(x, x)", "Inverse(x)"]
    assert state_of(history.start()) == before
    assert state_of(history.end()) == after


def test_change_in_an_earlier_state_forgets_the_later_ones() -> None:
    calls: list[int] = []
    history = FullHistory(lambda: calls.append(1))
    graph = graph_of(history)
    x, y = graph.inputs
    for new in (y, x, y):
        graph.change_node_input(first_node(graph), 0, new)
    history.goto(0)
    graph.change_node_input(first_node(graph), 0, mul(x, y))
    assert len(history.entries) == 2
    assert len(calls) == 4
    with pytest.raises(GraphValueError, match=r"there is no state 2\. Pass a number from -1 to 1"):
        history.goto(2)
    history.callback = None
    assert pickle.loads(pickle.dumps(graph)).features[0].entries == []
    assert graph.clone_get_equiv()[0].features[0] is not history


def test_full_history_belongs_to_one_graph() -> None:
    history = FullHistory()
    graph = graph_of(history)
    with pytest.raises(GraphValueError, match="belongs to another graph"):
        graph_of(history)
    graph.remove_feature(history)
    with pytest.raises(GraphValueError, match="attached to no graph"):
        history.start()


# Validation


class NoMul(Feature):
    """Refuses products."""

    def validate(self, fgraph: FunctionGraph) -> None:
        if any(node.op == mul for node in fgraph.apply_nodes):
            msg = "no products: there is one. Use sums."
            raise InconsistencyError(msg)


def sums(*features: Feature) -> FunctionGraph:
    x, y = number("x"), number("y")
    return FunctionGraph([x, y], [add(inverse(x), y), add(x, y)], features, clone=False)


def test_validator_tells_whether_features_accept_the_graph() -> None:
    graph = sums(Validator(), NoMul())
    assert graph.consistent()
    graph.add_output(mul(*graph.inputs))
    assert not graph.consistent()
    with pytest.raises(InconsistencyError, match="no products"):
        graph.validate()


def test_refused_replacements_are_undone_together() -> None:
    graph = sums(ReplaceValidate(), NoMul())
    before, order = state_of(graph), graph.toposort()
    (x, y), (a, b) = graph.inputs, graph.outputs
    with pytest.raises(InconsistencyError):
        graph.replace_all_validate([(a, add(y, x)), (b, mul(x, y))], "mine")
    with pytest.raises(GraphTypeError):
        graph.replace_all_validate([(a, add(y, x)), (b, 3)])
    assert state_of(graph) == before
    assert graph.toposort() == order
    graph.replace_all_validate([(a, add(y, x)), (b, x)])
    assert graph.outputs[1] is x


def test_replacement_that_would_make_a_cycle_is_undone() -> None:
    graph = sums(ReplaceValidate())
    order = graph.toposort()
    inner = inputs_of(graph.outputs[0])[0]
    far = inverse(inverse(graph.outputs[0]))
    graph.add_output(far)
    before = state_of(graph)
    with pytest.raises(CycleError):
        graph.replace_validate(inner, far)
    assert state_of(graph) == before
    assert graph.toposort()[: len(order)] == order


def test_replacement_must_remove_what_it_says() -> None:
    graph = sums(ReplaceValidate())
    y, a = graph.inputs[1], graph.outputs[0]
    inner = inputs_of(a)[0]
    graph.add_output(inverse(inner))
    before = state_of(graph)
    with pytest.warns(TreadleWarning, match="Inverse.out is still used after the replacement \\(reason: mine\\)"):
        assert not graph.replace_all_validate_remove([(a, y)], [inner], "mine")
    assert not graph.replace_all_validate_remove([(a, y)], [inner.owner], warn=False)
    assert state_of(graph) == before
    assert graph.replace_all_validate_remove([(a, y)], [a, a.owner])
    assert graph.outputs[0] is y


def test_replacements_are_printed_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    graph = sums(ReplaceValidate())
    graph.replace_validate(graph.outputs[1], graph.inputs[0], "simpler", verbose=True)
    assert capsys.readouterr().out == "rewriting: rewrite simpler replaces add.out with x\n"


# Names


def test_names_and_tags_are_passed_on_where_they_are_missing() -> None:
    for kind, kept in ((PreserveVariableAttributes, True), (PreserveNames, False)):
        graph = sums(kind())
        x, y = graph.inputs
        old = graph.outputs[0]
        old.name, old.tag.note, old.tag.mark = "result", "mine", 1
        new = add(y, x)
        new.tag.mark = 2
        graph.replace(old, new)
        assert (new.name, new.tag.mark, hasattr(new.tag, "note")) == ("result", 2, kept)
        named = add(x, x, name="named")
        graph.replace(new, named)
        assert named.name == "named"


# Shapes


def shape_of_node(graph: Any, node: Apply, shapes: Any) -> Any:
    assert graph is not None
    return [(f"{node.op}[{', '.join(s[0] for s in shapes)}]",) for _ in node.outputs]


@pytest.fixture
def _sized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(add), "infer_shape", staticmethod(shape_of_node))


def no_shapes(*_: object) -> list[object]:
    return []


def leaf(var: Variable) -> tuple[str] | None:
    return None if var.name == "shapeless" else (str(var),)


@pytest.mark.usefixtures("_sized")
def test_shapes_are_found_once_and_forgotten_where_the_graph_changes() -> None:
    feature = ShapeFeature(leaf)
    graph = sums(feature)
    x, (a, b) = graph.inputs[0], graph.outputs
    assert graph.shape_of(a) == ("add[Inverse.out, y]",)
    assert graph.shape_of(b) == ("add[x, y]",)
    assert graph.shape_feature.inferred == 3
    assert graph.shape_of(a) == ("add[Inverse.out, y]",)
    assert feature.inferred == 3
    graph.replace(inputs_of(a)[0], add(x, x))
    assert graph.shape_of(a) == ("add[add[x, x], y]",)
    assert feature.inferred == 5
    assert graph.shape_of(b) == ("add[x, y]",)
    assert feature.inferred == 5
    graph.remove_feature(feature)
    with pytest.raises(GraphValueError, match="attached to no graph"):
        feature.shape_of(a)


def test_wrong_number_of_shapes_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(add), "infer_shape", no_shapes)
    graph = sums(ShapeFeature(leaf))
    with pytest.raises(GraphValueError, match="infer_shape returned 0 shapes for 1 outputs, built at"):
        graph.shape_of(graph.outputs[0])


def test_variables_may_have_no_shape_and_features_one_graph() -> None:
    feature = ShapeFeature(leaf)
    graph = sums(feature)
    graph.add_input(number("shapeless"))
    assert graph.shape_of(graph.inputs[2]) is None
    with pytest.raises(GraphValueError, match="belongs to another graph"):
        sums(feature)
    assert graph.clone_get_equiv()[0].shape_of(graph.outputs[0]) == ("add.out",)
    assert pickle.loads(pickle.dumps(graph)).features[0].inferred == 0


@pytest.mark.usefixtures("_sized")
def test_shapes_of_a_long_chain_are_found_without_recursion() -> None:
    x = number("x")
    graph = FunctionGraph([x], [chain(x, 200)], [ShapeFeature(leaf)], clone=False)
    shape = graph.shape_of(graph.outputs[0])
    assert shape is not None
    assert shape[0].count("add") == 200


# Attaching


class Installing(Feature):
    """Installs two attributes, and fails if asked to."""

    def __init__(self, names: tuple[str, ...], error: Exception | None = None) -> None:
        self.names, self.error = names, error

    def on_attach(self, fgraph: FunctionGraph) -> None:
        for name in self.names:
            self.install(fgraph, **{name: self})
        if self.error is not None:
            raise self.error


def test_feature_cannot_shadow_what_the_graph_has() -> None:
    graph = graph_of()
    graph.attach_feature(Installing(("fresh", "replace")))
    assert len(graph.features) == 0
    assert not hasattr(graph, "fresh")
    graph.attach_feature(Installing(("fresh",)))
    graph.attach_feature(Installing(("other", "fresh")))
    assert len(graph.features) == 1
    assert not hasattr(graph, "other")


def test_feature_that_fails_while_attached_leaves_nothing() -> None:
    graph = graph_of()
    with pytest.raises(KeyError):
        graph.attach_feature(Installing(("fresh",), KeyError("why")))
    assert graph.features == ()
    assert not hasattr(graph, "fresh")


def test_object_that_is_not_a_feature_is_refused() -> None:
    graph = graph_of()
    with pytest.raises(GraphTypeError, match="a feature is needed, got 3"):
        graph.attach_feature(3)  # type: ignore[arg-type]  # what the test is about
    assert graph.features == ()


def test_bookkeeper_imports_and_prunes_every_node() -> None:
    class Count(Bookkeeper):
        def __init__(self) -> None:
            self.nodes: set[Apply] = set()

        def on_import(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
            self.nodes.add(node)

        def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
            self.nodes.remove(node)

    count = Count()
    graph = graph_of(count)
    assert count.nodes == set(graph.apply_nodes)
    graph.replace(graph.outputs[0], graph.inputs[0])
    assert count.nodes == set(graph.apply_nodes)
    graph.remove_feature(count)
    assert count.nodes == set()


def test_finder_installs_its_query_method() -> None:
    graph = graph_of(NodeFinder())
    assert [str(node) for node in graph.get_nodes(inverse)] == ["Inverse(x)", "Inverse(y)"]
    assert graph.get_nodes(add) == [graph.outputs[0].owner]
    copy = graph.clone_get_equiv()[0]
    copy.replace(copy.outputs[0], copy.inputs[0])
    assert copy.get_nodes(add) == []
    assert len(graph.get_nodes(add)) == 1
    graph.remove_feature(graph.features[0])
    assert not hasattr(graph, "get_nodes")


# Failure


class FailsAt(Feature):
    """Fails at one callback."""

    def __init__(self, name: str, number: int = 1) -> None:
        self.left = number
        setattr(self, name, self.fail)

    def fail(self, *args: Any) -> None:
        self.left -= 1
        if not self.left:
            msg = "fails: as asked. Do nothing."
            raise GraphValueError(msg)


class Told(Feature):
    """Records the callbacks that it gets."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        self.heard.append(f"import {node.op} {node in fgraph} {reason}")

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        self.heard.append(f"prune {node.op} {node in fgraph} {reason}")

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, var: Variable, new_var: Variable, reason: str | None = None
    ) -> None:
        self.heard.append(f"change {var} to {new_var} {reason}")


def test_features_hear_of_the_reverse_of_what_they_heard_when_one_fails() -> None:
    before, after = Told(), Told()
    graph = graph_of(before, FailsAt("on_import", 2), after)
    state = state_of(graph)
    with pytest.raises(GraphValueError, match="as asked"):
        graph.replace(graph.outputs[0], mul(inverse(graph.inputs[0]), 2.0), "mine")
    assert state_of(graph) == state
    assert before.heard == [
        "import Inverse True mine",
        "import mul True mine",
        "prune mul False revert",
        "prune Inverse False revert",
    ]
    assert after.heard == ["import Inverse True mine", "prune Inverse False revert"]


@pytest.mark.parametrize("name", ["on_import", "on_prune", "on_change_input"])
def test_replacements_that_belong_together_are_undone_together(name: str) -> None:
    listener = Told()
    graph = graph_of(listener, FailsAt(name, 2))
    state = state_of(graph)
    x = graph.inputs[0]
    with pytest.raises(GraphValueError):
        graph.replace_all([(out, add(x, x)) for out in graph.outputs])
    assert state_of(graph) == state
    graph.check_integrity()
    imported = [text.split()[1] for text in listener.heard if text.startswith("import") and "revert" not in text]
    assert len(imported) == listener.heard.count("prune add False revert")


def test_failure_while_undoing_is_raised_after_everyone_has_heard() -> None:
    class Stubborn(Feature):
        def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
            msg = "stubborn: I do not forget. Remove me."
            raise GraphValueError(msg)

    listener = Told()
    graph = graph_of(Stubborn(), listener, FailsAt("on_change_input"))
    state = state_of(graph)
    with pytest.raises(GraphValueError, match="I do not forget"):
        graph.replace(graph.outputs[0], mul(graph.inputs[0], 2.0))
    assert state_of(graph) == state
    assert listener.heard[-1] == "prune mul False revert"


def test_feature_may_edit_the_graph_when_told_of_a_change() -> None:
    class Doubling(Feature):
        def on_import(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
            if node.op == mul and reason == "mine":
                fgraph.replace(node.outputs[0], add(*node.inputs), "follow")

    listener = Told()
    graph = graph_of(Doubling(), listener)
    graph.replace(graph.outputs[0], mul(graph.inputs[0], 2.0), "mine")
    assert str(graph.outputs[0].owner) == "add(x, 2.0)"
    assert listener.heard[0] == "import mul False mine"
    graph.check_integrity()


def test_feature_that_edits_while_an_edit_is_undone_is_refused() -> None:
    class Meddling(Feature):
        def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
            if reason == "revert":
                fgraph.add_input(number())

    graph = graph_of(Meddling(), FailsAt("on_change_input"))
    with pytest.raises(GraphValueError, match="edits the graph while an edit is taken back"):
        graph.replace(graph.outputs[0], mul(graph.inputs[0], 2.0))
    graph.check_integrity()


def test_edits_in_a_transaction_are_undone_by_any_error() -> None:
    graph = graph_of()
    state = state_of(graph)

    def several() -> None:
        with graph.transaction():
            graph.replace(graph.outputs[0], graph.inputs[0])
            graph.add_output(div_mod(*graph.inputs)[0])
            graph.toposort()
            raise KeyError

    with pytest.raises(KeyError):
        several()
    assert state_of(graph) == state
    graph.check_integrity()


def test_second_attachment_says_what_is_there() -> None:
    graph = graph_of(History())
    with pytest.raises(AlreadyThere, match="History: the graph has an attribute 'checkpoint' already"):
        History().on_attach(graph)


def test_callback_is_executed_by_every_feature_that_has_it_in_order_of_attachment() -> None:
    heard: list[tuple[str, FunctionGraph, int]] = []

    class Hears(Feature):
        def __init__(self, name: str) -> None:
            self.name = name

        def on_signal(self, fgraph: FunctionGraph, number: int) -> None:
            heard.append((self.name, fgraph, number))

    graph = graph_of()
    for feature in (Hears("first"), Feature(), Hears("second")):
        graph.attach_feature(feature)
    graph.execute_callbacks("on_signal", 7)
    assert heard == [("first", graph, 7), ("second", graph, 7)]
    graph.execute_callbacks("on_unknown")
