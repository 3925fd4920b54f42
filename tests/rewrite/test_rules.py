"""Declaring rules: ids, laws, tags, and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rewrite.toys import P, add, inc, is_commutative, neg, number, rewritten_text, value_of
from treadle.graph import DuplicateRegistrationError
from treadle.rewrite import (
    GraphPass,
    OpClass,
    Phase,
    PhasedDatabase,
    RewriterTypeError,
    Rule,
    RuleDefinitionError,
    RuleSet,
    rules_for,
)

if TYPE_CHECKING:
    from treadle.graph import Apply, FunctionGraph, Variable


def test_rule_takes_id_and_law_from_its_function() -> None:
    rules = RuleSet("toys")

    @rules.rule(Phase.CANONICALIZE, neg)
    def negative_of_negative(node: Apply) -> Variable | None:
        """neg(neg(x)) -> x.

        More text.
        """
        return node.outputs[0]

    rule = rules["negative_of_negative"]
    assert isinstance(rule, Rule)
    assert rule.law == "neg(neg(x)) -> x."
    assert rule.tracked == (neg,)
    assert rule.place.startswith("test_rules.py:")


def test_canonical_and_stable_rules_belong_to_every_mode_later_ones_to_fast_run() -> None:
    rules = RuleSet("toys")
    x = P("x")
    rules.law("first", neg(neg(x)), x, phase=Phase.CANONICALIZE)
    rules.law("second", inc(-x), x, phase=Phase.STABILIZE)
    rules.law("third", inc(inc(x)), x, phase=Phase.SPECIALIZE)
    assert rules["first"].tags == {"toys", "fast_run", "fast_compile", "canonicalize"}
    assert rules["second"].tags == {"toys", "fast_run", "fast_compile", "stabilize"}
    assert rules["third"].tags == {"toys", "fast_run", "specialize"}


def test_second_rule_of_an_id_is_refused_naming_both_places() -> None:
    rules = RuleSet("toys")
    rules.law("same", neg(neg(P("x"))), P("x"))
    with pytest.raises(DuplicateRegistrationError, match=r"'same'.*test_rules\.py:\d+ and at test_rules\.py:\d+"):
        rules.law("same", inc(P("x")), P("x"))


def test_rule_may_track_a_class_by_its_path() -> None:
    rules = RuleSet("toys")

    @rules.rule(Phase.CANONICALIZE, OpClass("tests.rewrite.toys.Unary"), OpClass("tests.rewrite.absent.Op"))
    def without_unary(node: Apply) -> Variable | None:
        """f(x) -> x."""
        return node.inputs[0]

    assert rewritten_text(rules["without_unary"], add(neg(number("x")), inc(number("y")))) == "add(x, y)"
    database = PhasedDatabase([rules])
    assert [card.name for card in rules_for(type(neg), database=database)] == ["without_unary"]
    assert rules_for(type(add), database=database) == []


@pytest.mark.parametrize("path", ["Unary", "", 1])
def test_class_without_a_path_is_refused(path: object) -> None:
    with pytest.raises(RewriterTypeError, match="OpClass: the path of a class is needed, got"):
        OpClass(path)  # type: ignore[arg-type]  # what is to be refused


def test_rule_without_docstring_is_refused() -> None:
    rules = RuleSet("toys")
    with pytest.raises(RuleDefinitionError, match="'silent': has no docstring"):

        @rules.rule(Phase.CANONICALIZE, neg)
        def silent(node: Apply) -> None:
            del node


def test_rule_that_tracks_something_else_than_ops_is_refused() -> None:
    rules = RuleSet("toys")
    with pytest.raises(RuleDefinitionError, match="tracks ops or classes of ops, got 'neg'"):

        @rules.rule(Phase.CANONICALIZE, "neg")  # type: ignore[arg-type]  # this is what is refused
        def wrong(node: Apply) -> None:
            """neg(x) -> x."""
            del node


def test_law_prints_its_two_sides() -> None:
    rules = RuleSet("toys")
    x = P("x")
    rules.law("shown", add(-x, 1), inc(-x))
    assert rules["shown"].law == "add(neg(x), 1) -> inc(neg(x))."


def test_law_with_unknown_variable_on_the_right_is_refused() -> None:
    with pytest.raises(RuleDefinitionError, match="right side uses y, which the left side lacks"):
        RuleSet("toys").law("unbound", neg(neg(P("x"))), P("y"))


def test_law_whose_left_side_is_not_an_op_is_refused() -> None:
    with pytest.raises(RuleDefinitionError, match="left side is an op applied to patterns"):
        RuleSet("toys").law("bare", P("x"), P("x"))


def test_law_whose_right_side_is_neither_pattern_nor_function_is_refused() -> None:
    with pytest.raises(RuleDefinitionError, match="right side is a pattern or a function"):
        RuleSet("toys").law("number", neg(neg(P("x"))), 3)


def test_pattern_of_other_values_is_refused() -> None:
    with pytest.raises(RuleDefinitionError, match="operands are patterns or numbers, got 'one'"):
        add(P("x"), "one")


def test_set_iterates_in_order_of_declaration() -> None:
    rules = RuleSet("toys", is_commutative=is_commutative, value_of=value_of)
    rules.law("b", neg(neg(P("x"))), P("x"))

    @rules.graph_pass(Phase.FUSION)
    def a(fgraph: FunctionGraph) -> int:
        """Nothing -> nothing."""
        return 0 * len(fgraph)

    assert [item.name for item in rules] == ["b", "a"]
    assert len(rules) == 2
    assert rules.names == {"a", "b"}
    assert isinstance(rules["a"], GraphPass)
