"""Pickling and deep copies of graphs."""

import copy
import pickle
from typing import Any

import pytest

from tests.graph.arithmetic import NUMBER, add, chain, div_mod, inverse, mul, number
from treadle.graph import Constant, FunctionGraph, Output, SharedVariable, Variable, ancestors, equal_computations


def through_pickle(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("copied", [through_pickle, copy.deepcopy])
def test_variables_of_one_graph_keep_their_identity(copied: Any) -> None:
    x, y = number("x"), number("y")
    shared = mul(x, y)
    first, second = inverse(shared), add(shared, x)
    things = copied([x, first, second, shared, {"again": first}, second.owner])
    new_x, new_first, new_second, new_shared, named, node = things
    assert new_x is not x
    assert new_first.owner.inputs == [new_shared]
    assert new_second.owner.inputs == [new_shared, new_x]
    assert named["again"] is new_first
    assert node is new_second.owner
    assert equal_computations([new_second], [second], [new_x, new_shared.owner.inputs[1]], [x, y])


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
def test_identity_holds_in_whatever_order_variables_are_met(order: list[int]) -> None:
    x = number("x")
    a = inverse(x)
    b = mul(a, x)
    things = [x, a, b]
    loaded = through_pickle([things[i] for i in order])
    new = dict(zip(order, loaded, strict=True))
    assert new[2].owner.inputs == [new[1], new[0]]


def test_outputs_of_one_node_stay_together() -> None:
    quotient, rest = div_mod(number("x"), 2.0)
    new_rest, new_quotient = through_pickle([rest, quotient])
    assert new_rest.owner is new_quotient.owner
    assert (new_rest.index, new_quotient.index) == (1, 0)


def test_names_tags_lines_and_constants_survive() -> None:
    x = number("x")
    y = add(x, 2.5, name="total")
    y.tag.note = "mine"
    y.owner.tag.note = "node's"
    loaded = through_pickle(y)
    assert (loaded.name, loaded.tag.note, loaded.owner.tag.note) == ("total", "mine", "node's")
    assert loaded.user_line == y.user_line
    assert isinstance(loaded.owner.inputs[1], Constant)
    assert loaded.owner.inputs[1].data == 2.5


@pytest.mark.parametrize("copied", [through_pickle, copy.deepcopy])
def test_attributes_of_the_users_own_survive(copied: Any) -> None:
    x: Any = number("x")
    quotient, rest = div_mod(x, 2.0)
    rest.partner, x.results = quotient, [quotient, rest]
    new_x, new_rest = copied([x, rest])
    assert (new_rest.partner, new_x.results) == (new_rest.owner.outputs[0], new_rest.owner.outputs)
    assert not hasattr(new_rest.partner, "partner")


def test_one_record_holds_the_whole_graph() -> None:
    x = number("x")
    out = chain(x, 100)
    alone = len(pickle.dumps(out))
    many = len(pickle.dumps(list(ancestors([out]))))
    assert many < 2 * alone


def test_two_pickles_do_not_share_what_they_load() -> None:
    x = number("x")
    y = inverse(x)
    first, second = through_pickle(y), through_pickle(y)
    assert first is not second
    assert first.owner.inputs[0] is not second.owner.inputs[0]


def test_graph_changed_between_two_pickles_is_written_again() -> None:
    x, z = number("x"), number("z")
    y = inverse(x)
    pickle.dumps(y)
    y.owner.inputs[0] = z
    assert through_pickle(y).owner.inputs[0].name == "z"


def test_shared_variables_are_pickled_with_their_value_and_share_one_cell() -> None:
    state = SharedVariable(NUMBER, 1.5, name="state")
    out, loaded = through_pickle([inverse(state), state])
    assert out.owner.inputs[0] is loaded
    assert (loaded.get_value(), loaded.name) == (1.5, "state")
    loaded.set_value(2.5)
    assert state.get_value() == 1.5


def test_deep_graphs_are_pickled_without_recursion(length: int) -> None:
    x = number("x")
    out: Variable = chain(x, length)
    loaded = through_pickle([out, x])
    assert equal_computations([loaded[0]], [out], [loaded[1]], [x])


@pytest.mark.parametrize("copied", [through_pickle, copy.deepcopy])
def test_node_without_outputs_is_pickled_with_what_it_reads(copied: Any) -> None:
    x = number("x")
    graph = FunctionGraph([x], [inverse(x)], clone=False)
    (stand_in, _) = graph.clients[graph.outputs[0]][0]
    new, again, read = copied((stand_in, stand_in, stand_in.inputs[0]))
    assert new is again
    assert new.op == Output(0)
    assert new.inputs == [read]
    assert new.outputs == []


@pytest.mark.parametrize("copied", [through_pickle, copy.deepcopy])
def test_default_updates_that_lead_to_one_another_are_kept(copied: Any) -> None:
    first, second = SharedVariable(NUMBER, 1.5, name="first"), SharedVariable(NUMBER, 2.5, name="second")
    first.default_update, second.default_update = inverse(second), inverse(first)
    out = inverse(first.default_update)
    for start in (out, first, second.default_update):
        assert copied(start) is not None
    new = copied(out)
    other = new.owner.inputs[0].owner.inputs[0]
    assert other.name == "second"
    state = other.default_update.owner.inputs[0]
    assert (state.name, state.default_update) == ("first", new.owner.inputs[0])
    assert other.default_update.owner.inputs[0] is state


@pytest.mark.parametrize("copied", [through_pickle, copy.deepcopy])
def test_tags_may_refer_to_what_is_computed_from_their_variable(copied: Any) -> None:
    x = number("x")
    y = inverse(x)
    x.tag.later, x.tag.node = y, y.owner
    for new in (copied(y), copied(x).tag.later):
        start = new.owner.inputs[0]
        assert start.tag.later is new
        assert start.tag.node is new.owner
