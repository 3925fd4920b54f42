"""Patterns given as tuples, numbers, names and dictionaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.rewrite.toys import (
    Number,
    P,
    add,
    div,
    graph,
    inc,
    is_commutative,
    mul,
    neg,
    number,
    rewritten_text,
    split,
    text,
)
from treadle.graph import FunctionGraph
from treadle.rewrite import EquilibriumGraphRewriter, RuleDefinitionError
from treadle.surface.rewriters import PatternNodeRewriter

if TYPE_CHECKING:
    from treadle.graph import Apply


def test_tuple_pattern_replaces_holes() -> None:
    a, b = number("a"), number("b")
    rewriter = PatternNodeRewriter((add, "x", (neg, "y")), (div, "x", "y"))
    assert rewritten_text(rewriter, add(a, neg(b))) == "div(a, b)"
    assert rewritten_text(rewriter, add(neg(b), a)) == "add(neg(b), a)"
    commuting = PatternNodeRewriter((add, "x", (neg, "y")), (div, "x", "y"), is_commutative=is_commutative)
    assert rewritten_text(commuting, add(neg(b), a)) == "div(a, b)"
    assert rewriter.tracks() == (add,)
    assert str(rewriter) == "add(x, neg(y)) -> div(x, y)"


def test_tuple_pattern_with_the_same_hole_twice_wants_the_same_variable() -> None:
    a, b = number("a"), number("b")
    rewriter = PatternNodeRewriter((div, "x", "x"), Number().make_constant(1), name="same")
    assert rewritten_text(rewriter, div(a, a)) == "1"
    assert rewritten_text(rewriter, div(a, b)) == "div(a, b)"
    assert rewriter.name == "same"


def test_tuple_pattern_matches_numbers_and_constants_by_value() -> None:
    a = number("a")
    for one in (1, Number().make_constant(1)):
        rewriter = PatternNodeRewriter((mul, "x", one), "x")
        assert rewritten_text(rewriter, mul(a, 1)) == "a"
        assert rewritten_text(rewriter, mul(a, 2)) == "mul(a, 2)"


def test_constraint_narrows_a_hole_and_an_op() -> None:
    a, b = number("a", 3), number("b")
    bounded = {"pattern": "x", "constraint": lambda var: var.type.bound == 3}
    assert rewritten_text(PatternNodeRewriter((neg, bounded), (inc, "x")), neg(a)) == "inc(a)"
    assert rewritten_text(PatternNodeRewriter((neg, bounded), (inc, "x")), neg(b)) == "neg(b)"
    inner = {"pattern": (neg, "x"), "constraint": lambda var: var.type.bound == 3}
    assert rewritten_text(PatternNodeRewriter((neg, inner), "x"), neg(neg(a))) == "a"
    assert rewritten_text(PatternNodeRewriter((neg, inner), "x"), neg(neg(b))) == "neg(neg(b))"
    outer = {"pattern": (inc, "x"), "constraint": lambda var: var.type.bound == 3}
    assert rewritten_text(PatternNodeRewriter(outer, "x"), inc(a)) == "a"
    assert rewritten_text(PatternNodeRewriter(outer, "x"), inc(b)) == "inc(b)"


def test_inner_results_must_have_one_use_unless_allowed() -> None:
    a = number("a")

    def shared() -> FunctionGraph:
        inner = neg(a)
        return graph([a], neg(inner), inc(inner))

    for allowed, expected in ((False, "neg(neg(a))"), (True, "a")):
        fg = shared()
        EquilibriumGraphRewriter([PatternNodeRewriter((neg, (neg, "x")), "x", allowed)]).rewrite(fg)
        assert text(fg.outputs[0]) == expected


def test_right_side_may_be_a_function_of_graph_node_and_match() -> None:
    def replacement(fgraph: FunctionGraph, _node: Apply, match: Any) -> Any:
        return False if match["x"].name == "stop" else mul(match["x"], len(fgraph.inputs))

    rewriter = PatternNodeRewriter((neg, "x"), replacement)
    assert rewritten_text(rewriter, neg(number("a"))) == "mul(a, 1)"
    assert rewritten_text(rewriter, neg(number("stop"))) == "neg(stop)"


def test_class_of_ops_may_stand_for_any_of_them() -> None:
    rewriter = PatternNodeRewriter((type(neg), (type(neg), "x")), "x")
    assert rewritten_text(rewriter, neg(inc(number("a")))) == "a"
    assert rewritten_text(rewriter, inc(add(number("a"), 1))) == "inc(add(a, 1))"


def test_default_output_is_replaced_in_a_node_with_several() -> None:
    class First(type(split)):  # type: ignore[misc]  # a class made at run time
        default_output = 0

    a = number("a")
    node = First().make_node(a)
    fg = graph([a], *node.outputs)
    EquilibriumGraphRewriter([PatternNodeRewriter((First(), "x"), "x")]).rewrite(fg)
    assert text(fg.outputs[0]) == "a"
    assert fg.outputs[1].owner is not None


def test_pattern_may_be_looked_for_from_other_nodes() -> None:
    def below(_fgraph: FunctionGraph, node: Apply) -> list[Any]:
        return [x for x in node.inputs if x.owner is not None]

    rewriter = PatternNodeRewriter((neg, "x"), (inc, "x"), tracks=[mul], get_nodes=below)
    a = number("a")
    assert rewritten_text(rewriter, mul(neg(a), 2)) == "mul(inc(a), 2)"
    assert rewritten_text(rewriter, neg(a)) == "neg(a)"
    with pytest.raises(RuleDefinitionError, match="tracks is given without get_nodes"):
        PatternNodeRewriter((neg, "x"), "x", tracks=[mul])


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ("x", "x", "the left side is an op"),
        ((), "x", "give .op, .patterns., a name"),
        (("x", neg), "x", "give .op, .patterns., a name"),
        ((neg, "x"), "y", "the right side uses y"),
        ((neg, {"pattern": "x"}), "x", "a dict has the keys"),
        ((neg, {"pattern": 1, "constraint": bool}), 1, "a constraint narrows a hole"),
        ((neg, [3, 4]), "x", "give .op, .patterns."),
    ],
)
def test_malformed_patterns_are_refused(left: Any, right: Any, message: str) -> None:
    with pytest.raises(RuleDefinitionError, match=message):
        PatternNodeRewriter(left, right)


def test_patterns_may_be_mixed_with_tuples() -> None:
    x = P("x")
    assert rewritten_text(PatternNodeRewriter((neg, inc(x)), "x"), neg(inc(number("a")))) == "a"
