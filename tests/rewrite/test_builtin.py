"""Merging, folding, refining: the rules for every graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rewrite.toys import Number, add, div, graph, inc, mul, neg, number, power, split, text
from treadle.graph import Constant, Op, node_error
from treadle.rewrite import PhasedDatabase, RewriteDatabaseQuery
from treadle.rewrite.builtin import RULES as CORE

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.rewrite import Report


def run(fg: FunctionGraph, *exclude: str) -> Report:
    report: Report = PhasedDatabase([CORE]).query(RewriteDatabaseQuery(["fast_run"], exclude=exclude)).rewrite(fg)
    return report


def test_equal_computations_are_merged_level_by_level() -> None:
    a, b = number("a"), number("b")
    fg = graph([a, b], neg(add(a, b)), neg(add(a, b)), neg(add(b, a)))
    run(fg)
    first, second, third = fg.outputs
    assert first is second
    assert first is not third
    assert len(fg) == 4


def test_all_outputs_of_merged_nodes_are_merged() -> None:
    a = number("a")
    fg = graph([a], *split(a), *split(a))
    run(fg)
    assert fg.outputs[0] is fg.outputs[2]
    assert fg.outputs[1] is fg.outputs[3]
    assert len(fg) == 1


def test_nodes_on_equal_constants_are_merged() -> None:
    a = number("a")
    fg = graph([a], add(a, Number().make_constant(3)), add(a, Number().make_constant(3)), add(a, 4))
    run(fg)
    assert fg.outputs[0] is fg.outputs[1]
    assert len(fg) == 2


def test_equal_constants_become_one() -> None:
    a = number("a")
    fg = graph([a], add(a, 3), mul(a, 3), mul(a, 4))
    run(fg)
    constants = [v for v in fg.variables if isinstance(v, Constant)]
    assert sorted(c.data for c in constants) == [3, 4]


def test_merging_can_be_excluded() -> None:
    a = number("a")
    fg = graph([a], neg(a), neg(a))
    run(fg, "merge")
    assert len(fg) == 2


def test_merge_keeps_the_narrower_type() -> None:
    a = number("a")
    wide, narrow = neg(a), neg(a)
    narrow.type = Number(3)
    fg = graph([a], wide, narrow)
    run(fg)
    assert fg.outputs[1].type == Number(3)


def test_constants_are_folded() -> None:
    a = number("a")
    fg = graph([a], add(a, mul(add(2, 3), neg(4))))
    run(fg)
    assert text(fg.outputs[0]) == "add(a, -20)"


def test_all_outputs_are_folded() -> None:
    fg = graph([], *split(Number().make_constant(42)))
    run(fg)
    assert [v.data for v in fg.outputs if isinstance(v, Constant)] == [4, 2]


def test_folding_respects_the_op() -> None:
    class Volatile(type(neg)):  # type: ignore[misc]  # a class made at run time
        def do_constant_folding(self, fgraph: FunctionGraph, node: object) -> bool:
            del fgraph, node
            return False

    fg = graph([], Volatile("neg")(Number().make_constant(3)))
    run(fg)
    assert len(fg) == 1


def test_failing_computation_is_left_for_run_time() -> None:
    fg = graph([], inc(div(1, 0)))
    report = run(fg)
    assert text(fg.outputs[0]) == "inc(div(1, 0))"
    assert report.failures == []
    node = fg.toposort()[0]
    with pytest.raises(ZeroDivisionError) as caught:
        node.op.perform(node, [1, 0], [[None]])
    assert "div" in str(node_error(node, caught.value, [1, 0]))


def test_folding_that_would_take_much_memory_is_not_done() -> None:
    fg = graph([], power(2, 1_000_000))
    run(fg)
    assert len(fg) == 1


def test_ops_without_parameters_are_merged_only_if_identical() -> None:
    class Opaque(Op):
        def make_node(self, *inputs: object) -> object:  # type: ignore[override]  # narrower than the contract
            return neg.make_node(*inputs).__class__(self, list(inputs), [Number().make_variable()])  # type: ignore[arg-type]  # variables in these tests

        def perform(self, node: object, inputs: object, output_storage: object) -> None:
            raise NotImplementedError

    a = number("a")
    one = Opaque()
    fg = graph([a], one(a), one(a), Opaque()(a))
    run(fg)
    assert fg.outputs[0] is fg.outputs[1]
    assert len(fg) == 2
