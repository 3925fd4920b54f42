"""Explanations: rules for an op, which rules changed a graph, why one did not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.rewrite.toys import P, add, graph, inc, is_commutative, mul, neg, number, text, value_of
from treadle.graph import Apply, FunctionGraph, explicit_graph_inputs
from treadle.rewrite import (
    Phase,
    PhasedDatabase,
    RewriteDatabaseQuery,
    RewriterTypeError,
    RuleSet,
    UnknownTagError,
    comparison_page,
    rules_for,
    show_rewrites,
    why_not,
)
from treadle.surface.rewriters import graph_rewriter, node_rewriter

if TYPE_CHECKING:
    from treadle.graph import Variable

X, Y = P("x"), P("y")


def database() -> PhasedDatabase:
    rules = RuleSet("toys", is_commutative=is_commutative, value_of=value_of)
    rules.law("twice", neg(neg(X)), X, phase=(Phase.CANONICALIZE, Phase.SPECIALIZE))
    rules.law("early", add(X, 1), inc(X), phase=Phase.CANONICALIZE)
    rules.law("bounded", neg(inc(X)), X, phase=Phase.STABILIZE, when=_no)

    @rules.rule(Phase.STABILIZE, mul, tags=("fast_run", "odd"))
    def picky(node: Apply) -> Variable | None:
        """X * 3 -> neg(x).

        Only where x is called special.
        """
        return neg(node.inputs[0]) if node.inputs[0].name == "special" else None

    @rules.rule(Phase.STABILIZE, inc)
    def broken(node: Apply) -> Variable | None:
        """inc(broken) -> an error."""
        if node.inputs[0].name == "broken":
            raise OSError(node)
        return None

    @rules.graph_pass(Phase.FUSION)
    def outermost(fgraph: FunctionGraph) -> int:
        """mul(x, y) as the output -> add(x, y)."""
        out = fgraph.outputs[0]
        if out.owner is None or out.owner.op != mul:
            return 0
        fgraph.replace(out, add(*out.owner.inputs))
        return 1

    return PhasedDatabase([rules])


def _no(_node: Apply, match: Any) -> bool:
    return bool(match["x"].name == "yes")


def explanation(rule: str, var: Variable, query: Any = "fast_run", **options: Any) -> str:
    return str(why_not(rule, var, query, database(), **options))


def test_rules_for_an_op_are_listed_with_laws_phases_tags_and_places() -> None:
    cards = rules_for(neg, database=database())
    assert [card.name for card in cards] == ["twice", "bounded"]
    first = cards[0]
    assert first.law == "neg(neg(x)) -> x."
    assert first.databases == ("canonicalize", "specialize")
    assert first.tracks == ("neg",)
    assert {"toys", "fast_run", "canonicalize"} <= set(first.tags)
    assert first.place.startswith("test_explanation.py:")
    assert "runs in    canonicalize, specialize" in str(first)


def test_op_may_be_given_as_class_node_variable_or_name() -> None:
    base = database()
    names = ["picky"]
    for subject in (mul, mul(number("a"), 3), mul(number("a"), 3).owner, "mul", "MUL"):
        assert [card.name for card in rules_for(subject, database=base)] == names
    assert {card.name for card in rules_for(type(mul), database=base)} == {"picky", "early"}
    assert {card.name for card in rules_for("Binary", database=base)} == {"picky", "early"}
    assert [card.name for card in rules_for(tag="odd", database=base)] == ["picky"]
    assert "Only where x is called special." in str(rules_for(mul, database=base)[0])


def test_unknown_op_and_tag_are_refused_with_near_matches() -> None:
    with pytest.raises(UnknownTagError, match=r"no op is called 'mull'\. Did you mean mul"):
        rules_for("mull", database=database())
    with pytest.raises(UnknownTagError, match="no rule carries the tag 'odf'"):
        rules_for(tag="odf", database=database())
    with pytest.raises(RewriterTypeError, match="got 3"):
        rules_for(3, database=database())


def test_all_rules_are_listed_in_running_order() -> None:
    assert [card.name for card in rules_for(database=database())] == [
        "twice",
        "early",
        "bounded",
        "picky",
        "broken",
        "outermost",
    ]


def test_rules_that_change_a_graph_are_shown_in_order_without_changing_it() -> None:
    var = neg(neg(add(number("a"), 1)))
    report = show_rewrites(var, database=database())
    assert report.fired() == ("early", "twice")
    assert [change.before is not None for change in report] == [True, True]
    assert text(var) == "neg(neg(add(a, 1)))"
    fg = graph(list(explicit_graph_inputs([var])), var)
    assert show_rewrites(fg, database=database()).fired() == ("early", "twice")
    assert text(fg.outputs[0]) == "neg(neg(add(a, 1)))"
    assert show_rewrites([var, var], database=database()).fired() == ("early", "twice")
    assert show_rewrites(report) is report
    with pytest.raises(RewriterTypeError, match="takes a function, a graph, variables or a report"):
        show_rewrites(3)


def test_comparison_page_shows_both_graphs_and_the_rules() -> None:
    var = neg(neg(add(number("a"), 1)))
    page = comparison_page([var], database=database(), title="before and after")
    assert "before and after" in page
    assert '"twice"' in page
    assert '"early"' in page
    assert text(var) == "neg(neg(add(a, 1)))"


def test_rule_that_applies_is_said_to() -> None:
    assert explanation("twice", neg(neg(number("a")))).startswith("twice applied: it replaced neg, built at ")
    assert explanation("twice", neg(neg(number("a")))).endswith("in phase canonicalize")


def test_first_failing_condition_is_named() -> None:
    a = number("a")
    assert "it looks at neg, and the node is inc" in explanation("twice", inc(a))
    assert "the pattern's part neg(x) meets a, which no op computes" in explanation("twice", neg(a))
    assert "the number 1 meets 2, which holds 2" in explanation("early", add(a, 2))
    assert "its condition _no (line" in explanation("bounded", neg(inc(a)))
    assert "its own conditions are not met (see test_explanation.py:" in explanation("picky", mul(a, 3))
    assert "picky applied" in explanation("picky", mul(number("special"), 3))


def test_rule_left_out_by_the_query_is_named_with_the_tag() -> None:
    var = neg(neg(number("a")))
    without = RewriteDatabaseQuery(["fast_run"], exclude=["twice"])
    assert "the query excludes twice, carried by twice" in explanation("twice", var, without)
    no_phases = RewriteDatabaseQuery(["fast_run"], exclude=["canonicalize", "specialize"])
    assert "the query excludes canonicalize" in explanation("twice", var, no_phases)
    assert "the query requires odd" in explanation("twice", var, RewriteDatabaseQuery(["fast_run"], require=["odd"]))
    assert "the query includes odd, and it carries" in explanation("twice", var, "odd")


def test_failing_rule_is_reported() -> None:
    from treadle.config import config

    with config.change_flags(on_opt_error="ignore"):
        assert "it fails: OSError" in explanation("broken", inc(number("broken")))


def test_rule_that_came_too_late_names_the_one_that_was_first() -> None:
    late = RuleSet("late")

    @late.rule(Phase.SPECIALIZE, add)
    def too_late(node: Apply) -> Variable:
        """add(x, y) -> x."""
        return node.inputs[0]

    base = database()
    base.add(late)
    answer = why_not("too_late", add(number("a"), 1), database=base)
    assert not answer.applied
    assert "it fits the node as it is written, but rule 'early' (canonicalize) replaced it first" in answer.reason


def test_other_uses_count_in_the_graph_given() -> None:
    rules = RuleSet("uses")
    rules.law("once", neg(inc(X).only_used_once), X, phase=Phase.CANONICALIZE)
    base = PhasedDatabase([rules])
    inner = inc(number("a"))
    outer = neg(inner)
    assert why_not("once", outer, database=base).applied
    answer = why_not("once", outer, database=base, graph=[outer, mul(inner, 2)])
    assert "the result of the pattern's part inc(x) is used more than once" in answer.reason
    with pytest.raises(RewriterTypeError, match="is not part of the graph"):
        why_not("once", outer, database=base, graph=[inner])


def test_passes_are_explained_too() -> None:
    assert "outermost applied: it replaced mul" in explanation("outermost", mul(number("a"), number("b")))
    assert "made 0 changes of this one" in explanation("outermost", inc(number("a")))


def test_registered_rewriters_are_explained_like_rules() -> None:
    @node_rewriter([neg])
    def swap(_fgraph: FunctionGraph, node: Apply) -> Any:
        """neg(x) -> inc(x).

        Made by a user.
        """
        return [number("other", 3)] if node.inputs[0].name == "a" else None

    @graph_rewriter
    def whole(fgraph: FunctionGraph) -> None:
        """Nothing -> nothing."""

    base = PhasedDatabase([])
    base["canonicalize"].register("swap", swap, "fast_run")
    base.register("whole", whole, "fast_run", position=9)
    (card,) = rules_for(neg, database=base)
    assert (card.name, card.law, card.databases) == ("swap", "neg(x) -> inc(x).", ("canonicalize",))
    assert "Made by a user." in card.text
    assert [c.name for c in rules_for(database=base)] == ["swap", "whole"]
    assert "its own conditions are not met" in why_not("swap", neg(number("b")), database=base).reason


def test_unknown_rule_and_wrong_node_are_refused() -> None:
    with pytest.raises(UnknownTagError, match=r"no rule has the id 'twist'\. Did you mean twice"):
        explanation("twist", neg(number("a")))
    with pytest.raises(RewriterTypeError, match="a node is needed"):
        explanation("twice", number("a"))


def test_rule_registered_by_hand_beside_those_of_a_set_leaves_explanations_working() -> None:
    base = database()

    @node_rewriter(None)
    def by_hand(fgraph: Any, node: Apply) -> Any:
        del fgraph, node
        return None

    base["canonicalize"].register("by_hand", by_hand, "fast_run")
    assert not why_not("by_hand", add(number("a"), 1), database=base).applied
    assert by_hand in list(base.leaves())
