"""Rules that say what they need are asked only where it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import treadle.tensor as tt
from tests.rewrite.toys import P, add, graph, inc, is_commutative, mul, neg, number, power, text, value_of
from tests.tensor_rewrites.graphs import rewrite
from treadle.rewrite import (
    OpPattern,
    Phase,
    PhasedDatabase,
    RewriteError,
    RewriterTypeError,
    RuleDefinitionError,
    RuleSet,
)
from treadle.rewrite.builtin import RULES as CORE

if TYPE_CHECKING:
    from treadle.graph import Apply, FunctionGraph, Variable
    from treadle.rewrite import Report

X = P("x")


def toys() -> RuleSet:
    return RuleSet("toys", is_commutative, value_of)


def run(fgraph: FunctionGraph, rules: RuleSet) -> Report:
    report: Report = PhasedDatabase([CORE, rules]).query("canonicalize", "toys").rewrite(fgraph)
    return report


def tries(report: Report, name: str) -> int:
    return report.rules[name].tries if name in report.rules else 0


def watching(rules: RuleSet, *tracked: Any, **needs: Any) -> list[str]:
    """Declare a rule that notes on which nodes it is asked."""
    asked: list[str] = []

    @rules.rule(Phase.CANONICALIZE, *tracked, name="watch", **needs)
    def watch(node: Apply) -> None:
        """Nothing -> nothing."""
        asked.append(text(node.outputs[0]))

    return asked


@pytest.mark.parametrize(
    "below",
    [(inc,), (type(inc),), (OpPattern(type(inc), name="inc"),), (power, inc)],
    ids=["op", "class", "pattern", "any"],
)
def test_rule_is_asked_only_where_such_an_op_computes_an_input(below: tuple[Any, ...]) -> None:
    rules = toys()
    asked = watching(rules, add, below=below)
    a, b = number("a"), number("b")
    run(graph([a, b], mul(add(a, b), add(inc(a), b), add(b, mul(inc(a), b)))), rules)
    assert asked == ["add(inc(a), b)"]


@pytest.mark.parametrize(
    ("constants", "expected"),
    [("any", ["add(a, 1)", "add(1, 2)"]), ("all", ["add(1, 2)"]), ("", ["add(a, b)", "add(a, 1)", "add(1, 2)"])],
)
def test_rule_is_asked_only_where_inputs_are_constants(constants: str, expected: list[str]) -> None:
    rules = toys()
    asked = watching(rules, add, constants=constants)
    a, b = number("a"), number("b")
    run(graph([a, b], mul(add(a, b), mul(add(a, 1), add(1, 2)))), rules)
    assert asked == expected


def test_rule_is_asked_once_the_inputs_have_become_constants() -> None:
    rules = toys()
    asked = watching(rules, add, constants="all")

    @rules.rule(Phase.CANONICALIZE, inc)
    def three(_: Apply) -> Variable:
        """inc(x) -> 3."""
        return number_three

    number_three: Variable = add(1, 3).owner.inputs[1]
    a = number("a")
    run(graph([a], mul(a, add(2, inc(a)))), rules)
    assert asked == ["add(2, 3)"]


def test_another_word_for_constants_is_refused() -> None:
    with pytest.raises(RuleDefinitionError, match="constants is 'any', 'all' or empty, got 'some'"):
        watching(toys(), add, constants="some")


def test_rule_is_asked_once_the_op_comes_in() -> None:
    rules = toys()
    rules.law("expanded", power(X, 1), inc(X), phase=Phase.CANONICALIZE)
    asked = watching(rules, add, below=(inc,))
    a, b = number("a"), number("b")
    report = run(graph([a, b], add(power(a, 1), b)), rules)
    assert asked == ["add(inc(a), b)"]
    assert tries(report, "watch") == 1


def test_rule_that_needs_an_op_somewhere_is_asked_in_all_the_graph_once_it_is_there() -> None:
    a, b = number("a"), number("b")
    for other, expected in ((neg(b), []), (inc(b), ["neg(a)"])):
        rules = toys()
        asked = watching(rules, neg, needs=(inc,))
        run(graph([a, b], add(neg(a), mul(other, b)) if expected else add(mul(a, b), other)), rules)
        assert asked == expected


def test_needed_op_may_come_in_later() -> None:
    rules = toys()
    rules.law("expanded", power(X, 1), inc(X), phase=Phase.CANONICALIZE)

    @rules.rule(Phase.CANONICALIZE, neg, needs=(inc,), depth=3)
    def negative_of_sum_with_next(node: Apply) -> Variable | None:
        """neg(a + inc(b)) -> a."""
        inner = node.inputs[0].owner
        if inner is None or not any(x.owner is not None and x.owner.op == inc for x in inner.inputs):
            return None
        return inner.inputs[0]

    a, b = number("a"), number("b")
    fgraph = graph([a, b], neg(add(a, power(b, 1))))
    run(fgraph, rules)
    assert text(fgraph.outputs[0]) == "a"


def test_laws_are_tried_only_where_their_number_is() -> None:
    rules = toys()
    rules.law("times_one", mul(X, 1), X, phase=Phase.CANONICALIZE)
    rules.law("times_two", mul(X, 2), add(X, X), phase=Phase.CANONICALIZE)
    a, b = number("a"), number("b")
    fgraph = graph([a, b], add(mul(a, b), mul(a, 3), mul(2, b)))
    report = run(fgraph, rules)
    assert (tries(report, "times_one"), tries(report, "times_two")) == (0, 1)
    assert text(fgraph.outputs[0]) == "add(mul(a, b), mul(a, 3), add(b, b))"


def test_number_that_cannot_be_told_is_reported_by_the_laws() -> None:
    def failing(var: Variable) -> float:
        raise ValueError(var)

    rules = RuleSet("toys", is_commutative, failing)
    rules.law("times_one", mul(X, 1), X, phase=Phase.CANONICALIZE)
    a, b = number("a"), number("b")
    with pytest.raises(RewriteError, match="rule 'times_one': failed on mul"):
        run(graph([a, b], mul(a, b)), rules)


def test_what_is_no_op_cannot_be_needed() -> None:
    for needs in ({"below": ("inc",)}, {"needs": (3,)}):
        with pytest.raises(RewriterTypeError, match="rule 'watch': tracks ops or classes of ops"):
            watching(toys(), neg, **needs)


def test_rules_of_absent_ops_are_not_tried_on_products() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    _, report = rewrite([x, y], [tt.sin(x * y) * x + y], "fast_run")
    absent = ("product_with_switch", "softmax_times_quotient", "sign_out_of_constant", "density_over_tail")
    assert not set(absent) & set(report.rules)
    assert report.tries / report.visits < 8


def test_predicate_is_asked_in_every_run_and_a_pattern_once() -> None:
    rules, asked = toys(), []

    class Name(str):
        """A parameter that notes when it is compared."""

        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            asked.append("pattern")
            return str(self) == other

        __hash__ = str.__hash__

    def is_looked_at(op: Any) -> bool:
        asked.append("predicate")
        return bool(op == inc)

    watching(rules, OpPattern(type(inc), name=Name("inc")))
    rewriter = PhasedDatabase([CORE, rules]).query("canonicalize", "toys")
    a = number("a")
    for _ in range(3):
        rewriter.rewrite(graph([a], inc(a)))
    assert asked == ["pattern"]
    others = toys()
    watching(others, is_looked_at)
    rewriter = PhasedDatabase([CORE, others]).query("canonicalize", "toys")
    for _ in range(3):
        rewriter.rewrite(graph([a], inc(a)))
    assert asked == ["pattern", *["predicate"] * 3]
