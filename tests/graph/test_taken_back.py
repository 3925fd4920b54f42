"""Edits that are undone leave the order of evaluation as it was, and never one that computes something else."""

from __future__ import annotations

import pytest

from tests.graph.arithmetic import add, div_mod, inverse, mul, number
from tests.graph.memory import AddInto
from treadle.graph import DestroyHandler, Feature, FunctionGraph, History, Variable
from treadle.surface.full_history import FullHistory


class Refusing(Feature):
    """A feature that fails at every changed input while it is told to."""

    refuses = False

    def on_change_input(self, *args: object) -> None:
        del args
        if self.refuses:
            msg = "refused"
            raise RuntimeError(msg)


def long_graph() -> tuple[FunctionGraph, list[Variable]]:
    """Return a chain of 20 nodes, of which the tenth is an output too, with its variables."""
    steps: list[Variable] = [number("x")]
    for _ in range(20):
        steps.append(inverse(steps[-1]))
    return FunctionGraph([steps[0]], [steps[10], steps[-1]], clone=False), steps


def test_computed_variable_taken_as_given_takes_its_node_along() -> None:
    x = number("x")
    y = inverse(x)
    z = add(y, x)
    graph = FunctionGraph([x], [z], [History()], clone=False)
    before = graph.checkpoint()
    graph.add_input(y)
    assert graph.toposort() == [z.owner]
    assert list(graph.apply_nodes) == [z.owner]
    graph.check_integrity()
    graph.revert(before)
    assert graph.toposort() == [y.owner, z.owner]
    graph.check_integrity()


def test_output_taken_as_given_leaves_a_node_whose_other_output_is_used() -> None:
    x = number("x")
    quotient, rest = div_mod(x, 2.0)
    graph = FunctionGraph([x], [quotient, rest], clone=False)
    graph.add_input(quotient)
    assert list(graph.apply_nodes) == [rest.owner]
    graph.add_input(rest)
    assert list(graph.apply_nodes) == []
    graph.check_integrity()


def test_nodes_removed_in_a_transaction_that_fails_are_back_in_the_order() -> None:
    graph, _ = long_graph()
    before = graph.toposort()

    def remove_and_fail() -> None:
        with graph.transaction():
            graph.remove_output(1)
            assert len(graph.toposort()) == 10
            raise KeyError

    with pytest.raises(KeyError):
        remove_and_fail()
    assert graph.toposort() == before
    graph.check_integrity()


def test_nodes_pruned_after_the_start_of_a_history_are_back_in_the_order() -> None:
    graph, steps = long_graph()
    before = graph.toposort()
    history = FullHistory()
    graph.attach_feature(history)
    graph.replace(steps[15], steps[0])
    assert len(graph.toposort()) == 15
    history.start()
    assert graph.toposort() == before
    graph.check_integrity()


def test_edit_that_a_feature_refuses_leaves_the_order_under_a_destroy_handler() -> None:
    x, y = number("x"), number("y")
    read = mul(y, x)
    other = inverse(x)
    written = AddInto()(x, other)
    out = add(written, read)
    refusing = Refusing()
    graph = FunctionGraph([x, y], [out], [DestroyHandler(), refusing], clone=False)
    for _ in range(2):
        # A node that reads the overwritten value stops reading it, and the other way round.
        graph.change_node_input(read.owner, 1, y)
        graph.change_node_input(read.owner, 1, x)
    before = graph.toposort()
    refusing.refuses = True
    with pytest.raises(RuntimeError, match="refused"):
        graph.change_node_input(read.owner, 1, y)
    with pytest.raises(RuntimeError, match="refused"):
        graph.change_node_input(other.owner, 0, y)
    assert graph.toposort() == before
    statistics = graph.order_statistics
    done = statistics.rebuilds + statistics.repairs
    with pytest.raises(RuntimeError, match="refused"):
        graph.change_node_input(read.owner, 1, y)
    graph.toposort()
    assert statistics.rebuilds + statistics.repairs == done


def test_revert_to_before_a_destroy_handler_keeps_what_it_asks_for() -> None:
    x = number("x")
    y = inverse(x)
    written = AddInto()(y, x)
    read = mul(y, 2.0)
    out = add(written, read)
    graph = FunctionGraph([x], [out], [History()], clone=False)
    before = graph.checkpoint()
    assert graph.toposort().index(written.owner) < graph.toposort().index(read.owner)
    graph.attach_feature(DestroyHandler())
    assert graph.toposort().index(read.owner) < graph.toposort().index(written.owner)
    graph.revert(before)
    graph.validate()
    assert graph.toposort().index(read.owner) < graph.toposort().index(written.owner)
