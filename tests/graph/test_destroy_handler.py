"""The destroy handler: in-place operations run last or are refused, at a cost that does not grow with the graph."""

from __future__ import annotations

import pickle

import pytest

from tests.graph.arithmetic import NUMBER, add, inverse, mul, number, same
from tests.graph.memory import add_into, add_into_aliased, add_into_anything, choose, split
from treadle.graph import (
    AlreadyThere,
    DestroyHandler,
    FunctionGraph,
    GraphTypeError,
    InconsistencyError,
    NoOutputFromInplace,
    NoOutputInplaceOnInput,
    ReplaceValidate,
    Supervisor,
    Variable,
    inplace_candidates,
)


def graph_of(inputs: list[Variable], outputs: list[Variable]) -> FunctionGraph:
    return FunctionGraph(inputs, outputs, [DestroyHandler(), ReplaceValidate()], clone=False)


def first_input(var: Variable) -> Variable:
    assert var.owner is not None
    return var.owner.inputs[0]


def test_everything_is_read_before_it_is_overwritten() -> None:
    x, y = number("x"), number("y")
    overwritten, read = add_into(x, y), inverse(x)
    graph = graph_of([x, y], [overwritten, read])
    graph.validate()
    assert graph.toposort() == [read.owner, overwritten.owner]
    assert graph.destroyers(x) == [overwritten.owner]
    assert graph.has_destroyers([y, x])
    assert not graph.has_destroyers([y])
    assert graph.destroy_handler.orderings(graph) == {overwritten.owner: [read.owner]}


def test_views_are_read_before_what_they_share_memory_with_is_overwritten() -> None:
    x, y = number("x"), number("y")
    overwritten = add_into(x, y)
    read = inverse(same(same(x)))
    graph = graph_of([x, y], [overwritten, read])
    graph.validate()
    assert graph.toposort()[-1] is overwritten.owner
    assert graph.destroyers(read.owner.inputs[0]) == [overwritten.owner]


def test_overwriting_a_view_overwrites_what_it_is_a_view_of() -> None:
    x, y = number("x"), number("y")
    overwritten, read = add_into(same(x), y), inverse(x)
    graph = graph_of([x, y], [overwritten, read])
    graph.validate()
    assert graph.toposort()[-1] is overwritten.owner
    assert graph.destroyers(x) == [overwritten.owner]


def test_view_of_either_input_shares_memory_with_both() -> None:
    x, y, z = number("x"), number("y"), number("z")
    either = choose(x, y)
    overwritten, read_x, read_y = add_into(either, z), inverse(x), inverse(y)
    graph = graph_of([x, y, z], [overwritten, read_x, read_y])
    graph.validate()
    assert set(graph.destroy_handler.roots_of(either)) == {x, y}
    assert graph.toposort()[-1] is overwritten.owner


def test_chain_of_overwriting_nodes_is_fine() -> None:
    x, y = number("x"), number("y")
    out = add_into(add_into(add_into(x, y), y), y)
    graph = graph_of([x, y], [out])
    graph.validate()
    assert len(graph.toposort()) == 3


def test_reading_after_overwriting_names_both_nodes_and_lines() -> None:
    x, y = number("x"), number("y")
    overwritten = add_into(x, y)
    read_later = mul(overwritten, x)
    graph = graph_of([x, y], [read_later])
    with pytest.raises(InconsistencyError) as caught:
        graph.validate()
    message = str(caught.value)
    assert message.startswith("AddInto: the node overwrites what mul reads, built at test_destroy_handler.py:")
    assert '"read_later = mul(overwritten, x)"' in message
    assert '"overwritten = add_into(x, y)"' in message
    with pytest.raises(InconsistencyError):
        graph.validate()
    graph.change_node_input(read_later.owner, 1, y)
    graph.validate()


def test_two_nodes_that_overwrite_the_same_are_refused() -> None:
    x, y = number("x"), number("y")
    graph = graph_of([x, y], [add_into(x, y), add_into(same(x), y)])
    with pytest.raises(InconsistencyError, match="input 0 is overwritten by AddInto too, built at"):
        graph.validate()
    graph.remove_output(1)
    graph.validate()


X, Y = number("x"), number("y")


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([add_into(NUMBER.make_constant(1.0), Y)], r"shares the memory of 1\.0"),
        ([add_into(X, X)], "it overwrites input 0, and input 1 shares its memory"),
        ([add_into(X, same(X))], "and input 1 shares its memory"),
        ([add_into(X, Y), X], "overwrites x, an output of the graph"),
        ([add_into(X, Y), same(X)], r"overwrites Same\.out, an output"),
    ],
    ids=["constant", "itself", "view", "output", "view of an output"],
)
def test_overwriting_what_must_stay_is_refused(outputs: list[Variable], message: str) -> None:
    with pytest.raises(InconsistencyError, match=message):
        graph_of([X, Y], outputs).validate()


def test_variable_marked_as_indestructible_is_not_overwritten() -> None:
    x, y = number("x"), number("y")
    x.tag.indestructible = True
    with pytest.raises(InconsistencyError, match="must not be overwritten"):
        graph_of([x, y], [add_into(x, y)]).validate()


def test_op_may_tolerate_that_its_inputs_are_the_same_or_share_memory() -> None:
    x = number("x")
    graph_of([x], [add_into_anything(x, x)]).validate()
    graph_of([x], [add_into_aliased(x, same(x))]).validate()
    with pytest.raises(InconsistencyError):
        graph_of([x], [add_into_anything(x, same(x))]).validate()


def test_op_may_view_one_input_and_overwrite_another() -> None:
    x, y = number("x"), number("y")
    view, overwritten = split(x, y)
    graph = graph_of([x, y], [view, overwritten])
    graph.validate()
    assert (graph.destroyers(x), graph.destroyers(y)) == ([], [view.owner])
    with pytest.raises(InconsistencyError):
        graph_of([x, y], [*split(x, y), inverse(split(x, y)[0])]).validate()


def test_output_that_comes_to_be_overwritten_is_noticed() -> None:
    x, y = number("x"), number("y")
    graph = graph_of([x, y], [add_into(x, y)])
    graph.validate()
    graph.add_output(x)
    with pytest.raises(InconsistencyError, match="an output"):
        graph.validate()
    graph.remove_output(1)
    graph.validate()


def test_replacement_that_overwrites_too_early_is_undone() -> None:
    x, y = number("x"), number("y")
    total = add(x, y)
    later = mul(total, x)
    graph = graph_of([x, y], [later])
    with pytest.raises(InconsistencyError):
        graph.replace_validate(total, add_into(x, y))
    assert list(graph.apply_nodes) == [total.owner, later.owner]
    assert graph.destroyers(x) == []
    graph.replace_validate(total, add_into(y, x))
    assert graph.destroyers(y) == [graph.toposort()[0]]


def test_supervisor_protects_inputs_and_their_views() -> None:
    x, y = number("x"), number("y")
    total = add(same(x), y)
    graph = FunctionGraph([x, y], [total], [ReplaceValidate(), Supervisor([x])], clone=False)
    graph.validate()
    graph.attach_feature(DestroyHandler())
    with pytest.raises(InconsistencyError, match="would overwrite x, which is protected, built at"):
        graph.replace_validate(total, add_into(total.owner.inputs[0], y))
    graph.replace_validate(total, add_into(y, total.owner.inputs[0]))
    graph.remove_input(0)
    graph.validate()


def test_outputs_that_are_not_positions_are_refused() -> None:
    for positions in ("ab", None, 1.5, [0.5]):
        with pytest.raises(GraphTypeError, match="NoOutputFromInplace: outputs are positions"):
            NoOutputFromInplace(positions)  # type: ignore[arg-type]  # what is tried
    with pytest.raises(GraphTypeError, match="has no last one, got 2"):
        NoOutputFromInplace([0], 2)


def test_outputs_computed_in_place_can_be_refused() -> None:
    x, y = number("x"), number("y")
    outputs = [add_into(inverse(x), y), add_into(same(y), x)]
    graph = FunctionGraph([x, y], outputs, clone=False)
    for feature in (NoOutputFromInplace(), NoOutputFromInplace(1), NoOutputFromInplace(0, 1)):
        graph.attach_feature(feature)
        with pytest.raises(InconsistencyError, match=r"AddInto\.out would be computed in place, built at"):
            graph.validate()
        graph.remove_feature(feature)
    for listed in (NoOutputFromInplace([1]), NoOutputFromInplace(protected_out_ids=(0, 1))):
        graph.attach_feature(listed)
        with pytest.raises(InconsistencyError, match=r"AddInto\.out would be computed in place, built at"):
            graph.validate()
        graph.remove_feature(listed)
    graph.attach_feature(NoOutputFromInplace([]))
    graph.attach_feature(NoOutputFromInplace(2))
    graph.attach_feature(NoOutputInplaceOnInput(0, 1))
    graph.validate()
    graph.attach_feature(NoOutputInplaceOnInput())
    with pytest.raises(InconsistencyError, match="in place of the input y, built at"):
        graph.validate()


def test_candidates_for_working_in_place() -> None:
    x, y, z = number("x"), number("y"), number("z")
    temporary, view = inverse(x), same(z)
    overwritten = add_into(mul(x, x), y)
    out = add(add(add(add(temporary, view), z), overwritten), 1.0)
    graph = FunctionGraph([x, y, z], [out, y], [DestroyHandler(), Supervisor([x])], clone=False)
    taken = overwritten.owner.inputs[0]
    one = NUMBER.make_constant(1.0)
    assert inplace_candidates(graph, [temporary, x, y, one, taken]) == [temporary]
    assert inplace_candidates(graph, [view, z]) == []
    assert inplace_candidates(graph, [view, temporary]) == [view, temporary]
    assert inplace_candidates(graph, [x, y], []) == [x, y]


def test_handler_belongs_to_one_graph_and_leaves_nothing_behind() -> None:
    x, y = number("x"), number("y")
    handler = DestroyHandler()
    overwritten, read = add_into(x, y), inverse(x)
    graph = FunctionGraph([x, y], [overwritten, read], [handler], clone=False)
    other = FunctionGraph([x], [inverse(x)])
    with pytest.raises(ValueError, match="belongs to another graph"):
        other.attach_feature(handler)
    assert not hasattr(other, "destroyers")
    graph.attach_feature(DestroyHandler())
    assert graph.features == (handler,)
    with pytest.raises(AlreadyThere, match="'destroyers'"):
        handler.install(graph, destroyers=None)
    graph.remove_feature(handler)
    assert not hasattr(graph, "destroy_handler")
    graph.replace(read, mul(x, x))
    other.attach_feature(handler)
    other.validate()


def test_copies_and_pickles_get_handlers_of_their_own() -> None:
    x, y = number("x"), number("y")
    graph = graph_of([x, y], [add_into(x, y), inverse(x)])
    for copy in (graph.clone_get_equiv()[0], pickle.loads(pickle.dumps(graph))):
        assert [str(node.op) for node in copy.toposort()] == ["Inverse", "AddInto"]
        assert copy.destroyers(copy.inputs[0]) == [copy.outputs[0].owner]
        copy.validate()


def test_cost_of_local_changes_does_not_grow() -> None:
    def work(length: int) -> int:
        x, y = number("x"), number("y")
        out: Variable = x
        temporaries = []
        for _ in range(length):
            out = add(inverse(out), y)
            temporaries.append(out)
        graph = graph_of([x, y], [out])
        graph.validate()
        counts = graph.order_statistics
        start = counts.visited + counts.edges + counts.placed
        for old in temporaries[:: length // 100]:
            graph.replace_validate(old, add_into(first_input(old), y))
        assert counts.rebuilds == 1
        return counts.visited + counts.edges + counts.placed - start

    assert work(6_000) <= work(2_000) <= 1_000


def test_cost_of_a_changed_reader_does_not_depend_on_the_other_readers() -> None:
    x, y = number("x"), number("y")
    readers = [mul(x, float(i)) for i in range(5_000)]
    overwritten = add_into(x, y)
    graph = graph_of([x, y], [*readers, overwritten])
    graph.validate()
    counts = graph.order_statistics
    start, rebuilds = counts.visited + counts.edges + counts.placed, counts.rebuilds
    for i, old in enumerate(readers[:500]):
        graph.replace_validate(old, add(x, float(i)))
    assert counts.rebuilds == rebuilds
    assert counts.visited + counts.edges + counts.placed - start <= 4 * 500
    assert graph.toposort()[-1] is overwritten.owner


def test_refused_changes_cost_no_more_than_accepted_ones() -> None:
    x, y = number("x"), number("y")
    out: Variable = x
    olds = []
    for _ in range(5_000):
        out = add(out, y)
        olds.append(out)
    graph = graph_of([x, y], [out, *olds])
    graph.validate()
    order = graph.toposort()
    for old in olds[1::50]:
        with pytest.raises(InconsistencyError):
            graph.replace_validate(old, add_into(first_input(old), y))
    assert graph.order_statistics.rebuilds == 1
    assert graph.order_statistics.visited <= 400
    assert graph.toposort() == order


def test_long_chains_of_views_are_followed_without_recursion(length: int) -> None:
    x, y = number("x"), number("y")
    view: Variable = x
    for _ in range(length):
        view = same(view)
    graph = graph_of([x, y], [add_into(view, y), inverse(x)])
    graph.validate()
    assert graph.destroy_handler.roots_of(view) == [x]
    graph.replace(x, mul(y, y))
    graph.validate()
    assert graph.destroy_handler.roots_of(view) == [graph.toposort()[0].outputs[0]]
