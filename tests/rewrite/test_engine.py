"""The engine: fixed points, what is revisited, provenance, failures, cost."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

from tests.rewrite.toys import (
    Number,
    P,
    Word,
    add,
    graph,
    inc,
    is_commutative,
    mul,
    neg,
    number,
    power,
    split,
    text,
    value_of,
)
from treadle.config import config
from treadle.rewrite import (
    Phase,
    PhasedDatabase,
    RewriteError,
    RewriteWarning,
    Rule,
    RuleSet,
)
from treadle.rewrite.builtin import RULES as CORE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, FunctionGraph, Variable
    from treadle.rewrite import Report

X, Y = P("x"), P("y")


def toys() -> RuleSet:
    return RuleSet("toys", is_commutative=is_commutative, value_of=value_of)


def run(fg: FunctionGraph, *sets: RuleSet) -> Report:
    report: Report = PhasedDatabase(sets).query("fast_run").rewrite(fg)
    return report


def one_rule(function: Callable[..., Any], *tracked: Any, **options: Any) -> RuleSet:
    rules = toys()
    rules.rule(Phase.CANONICALIZE, *tracked, **options)(function)
    return rules


def test_rules_run_to_a_fixed_point() -> None:
    rules = toys()
    rules.law("negative_of_negative", neg(neg(X)), X, phase=Phase.CANONICALIZE)
    a = number("a")
    var = a
    for _ in range(7):
        var = neg(var)
    fg = graph([a], var)
    run(fg, rules)
    assert text(fg.outputs[0]) == "neg(a)"


def test_change_below_makes_deeper_patterns_match_above() -> None:
    rules = toys()
    rules.law("top", neg(add(inc(X), 1)), X, phase=Phase.CANONICALIZE)

    # Declared for a node that is looked at after the one above it: the engine must come back.
    @rules.rule(Phase.CANONICALIZE, neg, needs_graph=True)
    def change_below(fgraph: FunctionGraph, node: Apply) -> dict[Variable, Variable] | None:
        """neg(add(neg(x), 1)) -> neg(add(inc(x), 1)), by a change two levels down."""
        del fgraph
        below = node.inputs[0].owner
        inner = below.inputs[0].owner if below is not None else None
        if inner is None or inner.op != power:
            return None
        return {inner.outputs[0]: inc(inner.inputs[0])}

    a = number("a")
    fg = graph([a], neg(add(power(a, 3), 1)))
    report = run(fg, rules)
    assert report.fired() == ("change_below", "top")
    assert text(fg.outputs[0]) == "a"


def test_phases_run_in_order() -> None:
    rules = toys()
    rules.law("late", inc(X), neg(X), phase=Phase.SPECIALIZE)
    rules.law("early", add(X, 1), inc(X), phase=Phase.CANONICALIZE)
    a = number("a")
    fg = graph([a], add(a, 1))
    report = run(fg, rules)
    assert [(f.rule, f.phase) for f in report.firings] == [("early", "canonicalize"), ("late", "specialize")]
    assert text(fg.outputs[0]) == "neg(a)"


def test_rule_may_run_in_several_phases() -> None:
    rules = toys()
    rules.law("cleanup", neg(neg(X)), X, phase=(Phase.CANONICALIZE, Phase.SPECIALIZE))
    rules.law("between", inc(X), neg(X), phase=Phase.STABILIZE)
    a = number("a")
    fg = graph([a], neg(inc(a)))
    run(fg, rules)
    assert text(fg.outputs[0]) == "a"


def test_rules_tracking_a_class_see_every_op_of_it() -> None:
    seen: list[str] = []

    def watch(node: Apply) -> None:
        """Nothing -> nothing."""
        seen.append(str(node.op))

    a = number("a")
    run(graph([a], neg(add(inc(a), 1))), one_rule(watch, type(neg)))
    assert sorted(seen) == ["inc", "neg"]


def test_passes_run_after_the_local_rules_of_their_phase() -> None:
    rules = toys()
    seen: list[str] = []

    @rules.graph_pass(Phase.CANONICALIZE)
    def look(fgraph: FunctionGraph) -> int:
        """Nothing -> nothing."""
        seen.append(text(fgraph.outputs[0]))
        return 0

    rules.law("negative_of_negative", neg(neg(X)), X, phase=Phase.CANONICALIZE)
    a = number("a")
    report = run(graph([a], neg(neg(a))), rules)
    assert seen == ["a"]
    assert report.rules["look"].tries == 1


def test_new_nodes_take_the_line_and_the_name_of_what_they_replace() -> None:
    rules = toys()
    rules.law("expanded", inc(X), neg(add(X, 1)), phase=Phase.CANONICALIZE)
    a = number("a")
    old = inc(a)  # the user's line
    old.name = "result"
    assert old.owner is not None
    line = old.owner.user_line
    fg = graph([a], old)
    run(fg, rules)
    new = fg.outputs[0]
    assert new.name == "result"
    assert {node.user_line for node in fg.apply_nodes} == {line}
    assert line is not None
    assert "the user's line" in line.text


def test_report_names_rule_op_and_line() -> None:
    rules = toys()
    rules.law("negative_of_negative", neg(neg(X)), X, phase=Phase.CANONICALIZE)
    a = number("a")
    fg = graph([a], neg(neg(a)))  # here
    report = run(fg, rules)
    (firing,) = report.firings
    assert firing.rule == "negative_of_negative"
    assert firing.op == neg
    assert "here" in str(firing)
    assert (report.nodes_before, report.nodes_after) == (2, 0)
    assert report.rules["negative_of_negative"].hits == 1
    assert "2 nodes became 0" in str(report)
    assert "negative_of_negative  1 of" in str(report)


def test_verbose_option_prints_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    rules = toys()
    rules.law("negative_of_negative", neg(neg(X)), X, phase=Phase.CANONICALIZE)
    a = number("a")
    with config.change_flags(optimizer_verbose=True):
        run(graph([a], neg(neg(a))), rules)
    assert capsys.readouterr().out.startswith("canonicalize: negative_of_negative on neg at test_engine.py:")


def test_outputs_are_replaced_one_by_one() -> None:
    def only_remainder(node: Apply) -> Sequence[Variable | None]:
        """split(x)[1] -> neg(x)."""
        return [None, neg(node.inputs[0])]

    a = number("a")
    tens, ones = split(a)
    fg = graph([a], tens, ones)
    run(fg, one_rule(only_remainder, type(split)))
    assert [text(v) for v in fg.outputs] == ["Split(a).0", "neg(a)"]


def test_replacement_may_use_what_it_replaces() -> None:
    done: list[Apply] = []

    def wrap(node: Apply) -> Variable | None:
        """inc(x) -> neg(neg(inc(x)))."""
        if done:
            return None
        done.append(node)
        wrapped: Variable = neg(neg(node.outputs[0]))
        return wrapped

    a = number("a")
    fg = graph([a], inc(a))
    run(fg, one_rule(wrap, inc))
    assert text(fg.outputs[0]) == "neg(neg(inc(a)))"
    fg.check_integrity()


def test_refined_type_is_propagated() -> None:
    known = number("known", 5)

    def refine(node: Apply) -> Variable | None:
        """inc(x) -> y of known bound."""
        return known if node.inputs[0].name == "a" else None

    a = number("a")
    fg = graph([a, known], neg(neg(inc(a))))
    run(fg, CORE, one_rule(refine, inc))
    assert fg.outputs[0].type == Number(5)
    assert text(fg.outputs[0]) == "neg(neg(known))"


def test_replacement_of_another_type_is_refused_naming_rule_and_line() -> None:
    def wrong(node: Apply) -> Variable:
        """inc(x) -> a word."""
        del node
        return Word().make_variable("w")

    a = number("a")
    fg = graph([a], inc(a))  # made here
    with pytest.raises(RewriteError, match=r"'wrong'.*neither equals nor refines Number.*made here") as caught:
        run(fg, one_rule(wrong, inc))
    assert isinstance(caught.value.__cause__, RewriteError)
    assert text(fg.outputs[0]) == "inc(a)"


@pytest.mark.parametrize("answer", [3, [], "x", ["x"]])
def test_answer_of_another_form_is_refused(answer: Any) -> None:
    def odd(node: Apply) -> Any:
        """inc(x) -> something odd."""
        del node
        return answer

    a = number("a")
    with pytest.raises(RewriteError, match="rule 'odd'"):
        run(graph([a], inc(a)), one_rule(odd, inc))


def failing(node: Apply) -> Variable:
    """inc(x) -> an error."""
    msg = f"no luck with {node.op}"
    raise KeyError(msg)


def test_failing_rule_is_skipped_with_a_warning() -> None:
    a = number("a")
    fg = graph([a], inc(neg(neg(a))))
    rules = one_rule(failing, inc)
    rules.law("negative_of_negative", neg(neg(X)), X, phase=Phase.CANONICALIZE)
    with (
        config.change_flags(on_opt_error="warn"),
        pytest.warns(RewriteWarning, match=r"rule 'failing': failed on inc, built at .*no luck with inc"),
    ):
        report = run(fg, rules)
    assert text(fg.outputs[0]) == "inc(a)"
    assert report.failures[0][0] == "failing"


def test_failing_rule_is_skipped_silently_when_asked() -> None:
    a = number("a")
    with config.change_flags(on_opt_error="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        report = run(graph([a], inc(a)), one_rule(failing, inc))
    assert [name for name, _ in report.failures] == ["failing"]
    assert "failing failed" in str(report)


def test_failing_rule_raises_when_asked() -> None:
    a = number("a")
    with pytest.raises(RewriteError, match="rule 'failing'") as caught:
        run(graph([a], inc(a)), one_rule(failing, inc))
    assert isinstance(caught.value.__cause__, KeyError)


def test_failing_rule_starts_the_debugger_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    traces: list[object] = []
    monkeypatch.setattr("treadle.rewrite.engine.run.pdb.post_mortem", traces.append)
    a = number("a")
    with config.change_flags(on_opt_error="pdb"):
        run(graph([a], inc(a)), one_rule(failing, inc))
    assert len(traces) == 1


def back_and_forth() -> RuleSet:
    rules = toys()
    rules.law("there", add(X, Y), mul(X, Y), phase=Phase.CANONICALIZE)
    rules.law("back", mul(X, Y), add(X, Y), phase=Phase.CANONICALIZE)
    return rules


def test_rules_that_undo_each_other_are_stopped_and_named() -> None:
    a, b = number("a"), number("b")
    with config.change_flags(on_opt_error="warn"), pytest.warns(RewriteWarning, match="did not come to an end"):
        report = run(graph([a, b], add(a, b)), back_and_forth())
    assert report.looping[0] == "there"
    assert "there was stopped" in str(report)
    with pytest.raises(RewriteError, match="rule 'there': changed the graph"):
        run(graph([a, b], add(a, b)), back_and_forth())


def test_rules_may_change_what_a_node_was_expanded_into() -> None:
    rules = toys()

    @rules.rule(Phase.CANONICALIZE, inc)
    def expanded(node: Apply) -> Variable:
        """inc(x) -> many negatives."""
        (result,) = node.inputs
        for _ in range(300):
            result = neg(result)
        return result

    rules.law("squares", neg(X), mul(X, X), phase=Phase.CANONICALIZE)
    a = number("a")
    assert run(graph([a], inc(a)), rules).looping == []


def test_engine_leaves_no_feature_behind() -> None:
    a = number("a")
    fg = graph([a], neg(a))
    run(fg, CORE)
    assert fg.features == ()
    with pytest.raises(RewriteError):
        run(fg, one_rule(failing_on_neg, neg))
    assert fg.features == ()


def failing_on_neg(node: Apply) -> Variable:
    """neg(x) -> an error."""
    raise ValueError(node)


def test_rules_are_found_for_ops_that_track_nothing() -> None:
    seen = []

    def watch(node: Apply) -> None:
        """Nothing -> nothing."""
        seen.append(node)

    a = number("a")
    run(graph([a], neg(inc(a))), one_rule(watch))
    assert len(seen) == 2
    assert isinstance(one_rule(watch)["watch"], Rule)


def wide(n: int) -> FunctionGraph:
    """A long chain with hubs and something to do for each law."""
    a = number("a")
    var = a
    for i in range(n // 5):
        var = add(neg(neg(inc(var))), mul(a, i % 7))
    return graph([a], var)


def test_work_per_node_does_not_grow_with_the_graph() -> None:
    rules = toys()
    rules.law("negative_of_negative", neg(neg(X)), X, phase=Phase.CANONICALIZE)
    rules.law("inc_as_sum", inc(X), add(X, 1), phase=Phase.SPECIALIZE)
    rules.law("nested", add(add(X, 1), Y), add(X, add(Y, 1)), phase=Phase.STABILIZE)
    work = []
    for n in (250, 7_500):
        fg = wide(n)
        size = len(fg)
        report = run(fg, CORE, rules)
        work.append((report.visits / size, report.tries / size))
    (visits, tries), (more_visits, more_tries) = work
    assert more_visits <= visits * 1.1
    assert more_tries <= tries * 1.1
    assert more_visits < 12


def test_long_chain_is_rewritten_without_recursion(length: int) -> None:
    a = number("a")
    var = a
    for _ in range(length):
        var = inc(neg(var))
    rules = toys()
    rules.law("inc_of_negative", inc(neg(X)), neg(X), phase=Phase.CANONICALIZE)
    fg = graph([a], var)
    report = run(fg, CORE, rules)
    assert report.nodes_before == 2 * length
    assert len(fg) == length
