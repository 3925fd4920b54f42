"""What changes of a guarded graph cost: their checks, and the nodes that are looked at again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.rewrite.toys import Binary, P, add, graph, inc, mul, neg, number, power, text
from treadle.config import config
from treadle.graph import ORIGIN, Feature, Supervisor
from treadle.rewrite import EquilibriumGraphRewriter, Phase, PhasedDatabase, RuleDefinitionError, RuleSet
from treadle.rewrite.engine.run import stays_below
from treadle.rewrite.local.worklist import Worklist

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply, FunctionGraph, Op, Variable
    from treadle.rewrite import Report
    from treadle.rewrite.local.dispatch import Plan


X = P("x")


def node_of(var: Variable) -> Apply:
    assert var.owner is not None
    return var.owner


def test_what_is_computed_from_what_a_node_needs_makes_no_cycle() -> None:
    a, b = number("a"), number("b")
    inner = mul(a, b)
    middle = neg(inner)
    old = inc(middle)
    top = add(old, b)
    fg = graph([a, b], top)
    node = node_of(node_of(fg.outputs[0]).inputs[0])
    middle = node.inputs[0]
    inner = node_of(middle).inputs[0]
    out, x = node.outputs[0], fg.inputs[0]
    for new in (middle, inner, x, add(inner, x), neg(add(middle, inc(inner)))):
        assert stays_below(fg, node, [(out, new)])
    for new in (fg.outputs[0], neg(out), add(x, fg.outputs[0])):
        assert not stays_below(fg, node, [(out, new)])
    assert not stays_below(fg, node, [(middle, x)])


def test_what_many_nodes_would_tell_is_left_to_the_order() -> None:
    a, b = number("a"), number("b")
    chains: list[Any] = [a, a]
    for _ in range(400):
        chains = [neg(chains[0]), inc(chains[1])]
    fg = graph([a, b], add(*chains))
    first, second = node_of(fg.outputs[0]).inputs
    assert not stays_below(fg, node_of(first), [(first, second)])
    assert stays_below(fg, node_of(first), [(first, add(fg.inputs[0], fg.inputs[1]))])


def rewritten(fg: FunctionGraph, rule: Callable[[Apply], Variable | None], *tracked: Any) -> Report:
    rules = RuleSet("tried")
    rules.rule(Phase.CANONICALIZE, *tracked)(rule)
    report: Report = PhasedDatabase([rules]).query("canonicalize", "tried").rewrite(fg)
    return report


def inverse(node: Apply) -> Variable | None:
    """Two signs -> none."""
    inner = node.inputs[0].owner
    return inner.inputs[0] if inner is not None and inner.op == neg else None


def guarded(n: int) -> FunctionGraph:
    """Return a graph of n pairs of signs, as functions have it."""
    a = number("a")
    var: Any = a
    for _ in range(n):
        var = inc(neg(neg(var)))
    fg = graph([a], var)
    fg.attach_feature(Supervisor(fg.inputs))
    return fg


def repairs(fg: FunctionGraph) -> int:
    return fg.order_statistics.repairs + fg.order_statistics.rebuilds


def test_changes_that_make_no_cycle_are_not_checked_one_by_one() -> None:
    fg = guarded(50)
    before = repairs(fg)
    report = rewritten(fg, inverse, neg)
    assert len(report.firings) == 50
    assert repairs(fg) - before <= 2
    fg.check_integrity()


class Refusing(Feature):
    """Refuses nothing, and counts how often it is asked."""

    asked = 0

    def validate(self, fgraph: FunctionGraph) -> None:
        del fgraph
        self.asked += 1


def test_feature_that_may_refuse_is_asked_after_every_change() -> None:
    fg, feature = guarded(50), Refusing()
    fg.attach_feature(feature)
    rewritten(fg, inverse, neg)
    assert feature.asked >= 50


def test_change_that_makes_a_cycle_is_refused_alone() -> None:
    a = number("a")
    fg = graph([a], neg(inc(mul(a, a))))
    fg.attach_feature(Supervisor(fg.inputs))
    top = fg.outputs[0]

    def upside_down(node: Apply) -> Variable | None:
        """Mul(a, a) -> div(a, what is computed from it)."""
        return Binary("div")(node.inputs[0], top) if node.op == mul else None

    report = rewritten(fg, upside_down, mul)
    assert text(fg.outputs[0]) == "neg(inc(mul(a, a)))"
    assert report.rules["upside_down"].refused == 1


@pytest.mark.parametrize("levels", [4, 14])
def test_users_of_a_change_are_looked_at_once_however_many_ways_lead_there(
    levels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = RuleSet("deep")

    @rules.rule(Phase.CANONICALIZE, neg, depth=20)
    def signs(node: Apply) -> Variable | None:
        """Two signs -> none."""
        return inverse(node)

    a = number("a")
    var: Any = neg(neg(a))
    for _ in range(levels):
        var = add(var, var)
    fg = graph([a], var)
    asked = []
    plan = Worklist.plan

    def counted(self: Worklist, op: Op) -> Plan:
        asked.append(op)
        return plan(self, op)

    monkeypatch.setattr(Worklist, "plan", counted)
    EquilibriumGraphRewriter(list(rules)).rewrite(fg)
    assert len(fg) == levels
    assert len(asked) < 4 * (levels + 4)


def test_pass_is_left_out_where_the_graph_has_none_of_the_ops_that_it_needs() -> None:
    rules = RuleSet("passes")
    seen = []

    @rules.graph_pass(Phase.CANONICALIZE, needs=(Binary,))
    def watch(fgraph: FunctionGraph) -> int:
        """Nothing -> nothing."""
        seen.append(text(fgraph.outputs[0]))
        return 0

    rules.law("sign_as_product", neg(X), mul(X, -1), phase=Phase.CANONICALIZE)
    rewriter = PhasedDatabase([rules]).query("canonicalize", "passes")
    a = number("a")
    report = rewriter.rewrite(graph([a], inc(a)))
    assert (seen, report.tries) == ([], 0)
    rewriter.rewrite(graph([a], inc(power(a, a))))
    rewriter.rewrite(graph([a], neg(a)))
    assert seen == ["inc(pow(a, a))", "mul(a, -1)"]


def test_pass_that_needs_anything_but_classes_is_refused() -> None:
    with pytest.raises(RuleDefinitionError, match=r"pass 'watch': needs classes of ops, got.*mul"):

        @RuleSet("passes").graph_pass(Phase.CANONICALIZE, needs=(mul,))  # type: ignore[arg-type]  # the mistake
        def watch(fgraph: FunctionGraph) -> int:
            """Nothing -> nothing."""
            return len(fgraph)


@pytest.mark.parametrize("frames", [0, 3])
def test_what_a_rule_builds_comes_from_the_line_of_the_node(frames: int) -> None:
    lines = []

    def sign(node: Apply) -> Variable | None:
        """neg(x) -> mul(x, -1)."""
        new: Variable = mul(node.inputs[0], -1)
        lines.append((node.user_line, node_of(new).user_line))
        return new

    a = number("a")
    fg = graph([a], neg(a))  # the line
    with config.change_flags(traceback__compile_limit=frames):
        rewritten(fg, sign, neg)
    ((of_node, of_new),) = lines
    assert (of_new is of_node) == (frames == 0)
    line = node_of(fg.outputs[0]).user_line
    assert line is not None
    assert line.text.endswith("# the line")
    assert bool(line.inner) == (frames > 0)
    assert ORIGIN.line is None
