"""What a run reports, keeps, checks and counts: options, reports, checks on sample values."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.rewrite.toys import (
    Number,
    P,
    Unary,
    add,
    graph,
    graph_of,
    inc,
    is_commutative,
    mul,
    neg,
    number,
    text,
    value_of,
)
from treadle.config import COLLECTOR, config
from treadle.graph import (
    Apply,
    FunctionGraph,
    Op,
    UserLine,
    shared,
)
from treadle.rewrite import (
    EquilibriumDB,
    EquilibriumGraphRewriter,
    MissingTraceError,
    Phase,
    PhasedDatabase,
    RewriteError,
    RewriteWarning,
    RuleFaultError,
    RuleSet,
    SequentialGraphRewriter,
    rewrite_graph,
)
from treadle.rewrite.builtin import RULES as CORE
from treadle.rewrite.local.worklist import undoing
from treadle.surface.rewriters import (
    MetaNodeRewriter,
    check_stack_trace,
    copy_stack_trace,
    graph_rewriter,
    in2out,
    node_rewriter,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Type, Variable


class Sampled(Number):
    """Numbers that know samples."""

    def sample(self, seed: int) -> int:
        return 3 + seed % 7

    def is_super(self, other: Type) -> bool:
        return isinstance(other, Number)


def sampled(name: str) -> Variable:
    return Sampled().make_variable(name)


def swapping(name: str, old: Op, new: Any) -> Any:
    @node_rewriter([old], depth=1)
    def swap(_fgraph: FunctionGraph, node: Apply) -> Any:
        """Swap two ops."""
        return [new(*node.inputs)]

    swap.name = name
    return swap


# Checks on sample values


def test_checks_pass_where_values_stay() -> None:
    double = swapping("double", neg, lambda x: neg(neg(neg(x))))
    fg = graph_of(neg(inc(sampled("a"))))
    report = in2out(double, ignore_newtrees=True).rewrite(fg, checks=True)
    assert (report.checked, report.unchecked) == (1, 0)
    assert text(fg.outputs[0]) == "neg(neg(neg(inc(a))))"


def test_checks_name_rule_node_line_and_values() -> None:
    fg = graph_of(neg(inc(sampled("a"))))  # the line at fault
    with pytest.raises(
        RuleFaultError,
        match=r"'wrong': changed the value from -4 to 5, on neg, built at .*the line at fault.*with inc\.out = 4",
    ):
        in2out(swapping("wrong", neg, inc)).rewrite(fg, checks=True)
    assert text(fg.outputs[0]) == "neg(inc(a))"
    with config.change_flags(on_opt_error="ignore"), pytest.raises(RuleFaultError):
        in2out(swapping("wrong", neg, inc)).rewrite(fg, checks=True)


def test_checks_see_results_of_another_kind_and_failing_ones() -> None:
    class Bad(Unary):
        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            if self.name == "raises":
                raise ValueError
            output_storage[0][0] = 2.5

        def __str__(self) -> str:
            return self.name

    for name, message in (("float", "made a value that is none of type Number"), ("raises", "cannot be computed")):
        with pytest.raises(RuleFaultError, match=message):
            in2out(swapping("wrong", neg, Bad(name))).rewrite(graph_of(neg(sampled("a"))), checks=True)


def test_change_without_samples_is_counted_as_unchecked() -> None:
    fg = graph_of(neg(number("a")))
    report = in2out(swapping("wrong", neg, inc)).rewrite(fg, checks=True)
    assert (report.checked, report.unchecked) == (0, 1)


def test_checks_use_the_values_of_shared_variables_and_constants() -> None:
    import numpy as np

    import treadle.tensor as tt

    s = shared(np.array([4.0, 5.0]), name="s")

    @node_rewriter([tt.neg], depth=1)
    def wrong(_fgraph: FunctionGraph, node: Apply) -> Any:
        """neg(x) -> x - 8."""
        x: Any = node.inputs[0]
        return [x - 8.0]

    fg = FunctionGraph([s], [tt.neg(s)], clone=False)
    with pytest.raises(RuleFaultError, match=r"from \[-4\. -5\.\] to \[-4\. -3\.\]"):
        in2out(wrong).rewrite(fg, checks=True)


def test_rewrite_graph_takes_checks() -> None:
    with pytest.raises(RuleFaultError):
        rewrite_graph(neg(sampled("a")), custom_rewrite=in2out(swapping("wrong", neg, inc)), checks=True)


# Reports


def test_report_holds_order_lines_and_new_nodes() -> None:
    fg = graph_of(neg(inc(number("a"))))  # where it is built
    report = EquilibriumGraphRewriter([swapping("grown", neg, lambda x: inc(inc(x)))], name="stage").rewrite(fg)
    (firing,) = report.firings
    assert (firing.rule, firing.phase, firing.added) == ("grown", "stage", 2)
    assert "where it is built" in str(firing)
    assert str(firing).endswith(", 2 new nodes")
    assert report.steps() == str(firing)
    assert report.rules["grown"].added == 2
    assert "grown  1 of 1 tries  2 new nodes" in str(report)
    assert (firing.before, firing.after) == (None, ())


def test_report_keeps_nodes_when_asked_and_yields_changes() -> None:
    fg = graph_of(neg(number("a")))
    node = fg.toposort()[0]

    @graph_rewriter
    def pass_(fgraph: FunctionGraph) -> None:
        """inc(x) -> x * 2."""
        for each in fgraph.toposort():
            if each.op == inc:
                fgraph.replace(each.outputs[0], mul(each.inputs[0], 2))

    report = SequentialGraphRewriter(in2out(swapping("swap", neg, inc)), pass_).rewrite(fg, keep_nodes=True)
    first, second = report
    assert (first.rule, first.before, [str(n.op) for n in first.after]) == ("swap", node, ["inc"])
    assert first.user_line is node.user_line
    assert (second.rule, second.before, [str(n.op) for n in second.after]) == ("pass_", first.after[0], ["mul"])
    assert second.after[0].user_line == node.user_line


def test_profile_is_printed_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    with config.change_flags(profile_optimizer=True):
        in2out(swapping("swap", neg, inc)).rewrite(graph_of(neg(number("a"))))
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["rule", "ms", "tries", "hits", "refused", "nodes", "checks", "ms"]
    assert lines[2].split()[0] == "swap"
    assert lines[2].split()[2:6] == ["1", "1", "0", "1"]


def test_changes_are_printed_except_those_to_be_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    rules = [swapping("first", neg, inc), swapping("second", inc, lambda x: mul(x, 2))]
    with config.change_flags(optimizer_verbose=True, optimizer_verbose_ignore="other, first"):
        EquilibriumGraphRewriter(rules, name="stage").rewrite(graph_of(neg(number("a"))))
    assert [line.split(" on ")[0] for line in capsys.readouterr().out.splitlines()] == ["stage: second"]


# Where nodes come from


def test_nodes_of_rules_come_from_the_line_of_what_they_replace() -> None:
    fg = graph_of(neg(number("a")))  # the line
    line = fg.toposort()[0].user_line
    with config.change_flags(check_stack_trace="raise"):
        in2out(swapping("grown", neg, lambda x: inc(mul(x, 2)))).rewrite(fg)
    assert [node.user_line for node in fg.toposort()] == [line, line]


def nameless() -> FunctionGraph:
    fg = graph_of(neg(number("a")))
    fg.toposort()[0].user_line = None
    return fg


def test_lost_lines_are_noted_warned_about_or_refused() -> None:
    swap = in2out(swapping("swap", neg, inc))
    fg = nameless()
    swap.rewrite(fg)
    assert fg.toposort()[0].user_line is None
    with config.change_flags(check_stack_trace="log"):
        fg = nameless()
        swap.rewrite(fg)
    assert fg.toposort()[0].tag.trace == ["rewrite swap"]
    with config.change_flags(check_stack_trace="warn"), pytest.warns(RewriteWarning, match="'swap': inc has lost"):
        swap.rewrite(nameless())
    with config.change_flags(check_stack_trace="raise", on_opt_error="ignore"), pytest.raises(MissingTraceError):
        swap.rewrite(nameless())


def test_traces_are_copied_and_checked() -> None:
    old, new = neg(number("a")), inc(number("b"))
    line = UserLine("model.py", 3)
    assert old.owner is not None
    assert new.owner is not None
    old.owner.user_line = line
    old.tag.trace = ["one"]
    new.owner.user_line = None
    fg = graph_of(new)
    assert check_stack_trace(fg, bug_print="ignore") is False
    with pytest.raises(MissingTraceError, match="inc: the node does not know"):
        check_stack_trace(fg)
    with pytest.warns(RewriteWarning, match="does not know"):
        assert check_stack_trace(fg, inc, "warn") is False
    assert check_stack_trace(fg, [neg, type(add)])
    assert copy_stack_trace([old], new) is new
    assert new.owner.user_line is line
    assert new.tag.trace == ["one"]
    assert check_stack_trace(fg, "all")
    assert check_stack_trace(fg, lambda op: op == inc)
    with pytest.raises(TypeError, match="takes a function or a graph"):
        check_stack_trace(3)
    with pytest.raises(TypeError, match="ops_to_check is"):
        check_stack_trace(fg, 3)


# Test values


def test_test_values_are_computed_during_rewriting_as_the_option_says() -> None:
    seen: list[str] = []

    @node_rewriter([neg])
    def watch(_fgraph: FunctionGraph, _node: Apply) -> Any:
        """Nothing -> nothing."""
        seen.append(config.compute_test_value)

    for outside, inside in (("off", "ignore"), ("raise", "off")):
        a = number("a")
        var = neg(a)
        with config.change_flags(compute_test_value=outside, compute_test_value_opt=inside):
            in2out(watch).rewrite(graph_of(var))
            assert config.compute_test_value == outside
    assert seen == ["ignore", "off"]


# Loops


def test_rules_that_undo_each_other_are_named_together() -> None:
    rules = RuleSet("toys", is_commutative=is_commutative, value_of=value_of)
    x, y = P("x"), P("y")
    rules.law("there", add(x, y), mul(x, y), phase=Phase.CANONICALIZE)
    rules.law("back", mul(x, y), add(x, y), phase=Phase.CANONICALIZE)
    rules.law("innocent", neg(x), inc(x), phase=Phase.CANONICALIZE)
    fg = graph_of(neg(add(number("a"), number("b"))))
    with pytest.raises(RewriteError, match=r"'there': changed.*\('there' and 'back' undo each other\)"):
        PhasedDatabase([rules]).query("fast_run").rewrite(fg)
    with config.change_flags(on_opt_error="ignore"):
        report = PhasedDatabase([rules]).query("fast_run").rewrite(graph_of(neg(add(number("a"), number("b")))))
    assert report.loops[0] == ("there", "back")
    assert "there was stopped: it did not come to an end (there and back undo each other)" in str(report)


@pytest.mark.parametrize(
    ("names", "loop"),
    [
        ("xxabababab", ("a", "b")),
        ("abcabcabc", ("a", "b", "c")),
        ("aaaa", ("a",)),
        ("abcd", ("a", "b", "c", "d")),
        ("", ()),
    ],
)
def test_loop_is_the_shortest_period_at_the_end(names: str, loop: tuple[str, ...]) -> None:
    assert undoing(names) == loop


# Choosing by time


def test_meta_rewriter_takes_the_fastest_and_reports_it(capsys: pytest.CaptureFixture[str]) -> None:
    import time

    class Slow(Unary):
        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            time.sleep(0.02)
            output_storage[0][0] = -inputs[0]

        def __str__(self) -> str:
            return "slow"

    slow = Slow("neg")
    meta = MetaNodeRewriter(
        [slow], [swapping("quick", slow, neg), swapping("slower", slow, lambda x: neg(slow(slow(x))))]
    )
    fg = graph_of(slow(sampled("a")))
    with config.change_flags(metaopt__verbose=2):
        in2out(meta).rewrite(fg)
    assert text(fg.outputs[0]) == "neg(a)"
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["meta"] * 3
    with config.change_flags(metaopt__verbose=1):
        fg = graph_of(slow(number("a")))
        in2out(meta).rewrite(fg)
    assert "without test value or sample" in capsys.readouterr().out
    assert text(fg.outputs[0]) == "slow(a)"


# Threads, order, cost


def test_threads_register_and_query_at_once() -> None:
    database = EquilibriumDB()
    database.register("start", swapping("start", neg, inc), "all")
    barrier = threading.Barrier(4)
    errors: list[BaseException] = []

    def register(k: int) -> None:
        try:
            barrier.wait()
            for i in range(50):
                database.register(f"rule_{k}_{i}", swapping("r", mul, add), "all", f"tag_{k}_{i}")
                assert f"rule_{k}_{i}" in database.query("all").rules
        except BaseException as error:  # noqa: BLE001 - reported by the main thread
            errors.append(error)

    threads = [threading.Thread(target=register, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(database.query("all").rules) == 201


def test_one_rewriter_serves_threads_at_once() -> None:
    rules = RuleSet("toys", is_commutative=is_commutative, value_of=value_of)
    rules.law("twice", neg(neg(P("x"))), P("x"), phase=Phase.CANONICALIZE)
    rewriter = PhasedDatabase([CORE, rules]).query("fast_run")
    barrier = threading.Barrier(4)
    results: list[tuple[int, str]] = []

    def work() -> None:
        var = number("a")
        for _ in range(2001):
            var = neg(var)
        fg = graph_of(var)
        barrier.wait()
        report = rewriter.rewrite(fg)
        results.append((report.rules["twice"].hits, text(fg.outputs[0])))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [(1000, "neg(a)")] * 4


def test_collector_goes_on_after_the_last_run() -> None:
    import gc

    assert gc.isenabled()
    with COLLECTOR.paused():
        assert not gc.isenabled()
        with COLLECTOR.paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with COLLECTOR.paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


PROGRAM = """
import treadle.tensor as tt
from treadle.graph import FunctionGraph, debugprint
from treadle.rewrite import default_database
x, w = tt.dvector("x"), tt.dvector("w")
h = x
for i in range(6):
    h = tt.tanh(h * w + 1.5) * tt.exp(-h * h) + tt.log(1 + tt.exp(h)) / (i + 2)
fgraph = FunctionGraph([x, w], [h.sum(), *tt.grad(h.sum(), [x, w])])
report = default_database().query("fast_run", "-fusion").rewrite(fgraph)
print(debugprint(fgraph, file="str"))
print([str(firing) for firing in report.firings])
print([(name, cost.tries, cost.hits, cost.added) for name, cost in report.rules.items()])
"""


def test_graph_and_report_do_not_depend_on_the_hash_seed() -> None:
    printed = set()
    for seed in ("0", "1", "4711"):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        )
        printed.add(done.stdout)
    assert len(printed) == 1
    assert "Softplus" in printed.pop()


def test_wide_nodes_and_hubs_cost_no_more_per_node() -> None:
    class Many(type(neg)):  # type: ignore[misc]  # a class made at run time
        def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
            output_storage[0][0] = sum(inputs)

    rules = RuleSet("toys", is_commutative=is_commutative, value_of=value_of)
    rules.law("twice", neg(neg(P("x"))), P("x"), phase=Phase.CANONICALIZE)
    work = []
    for n in (300, 9_000):
        a = number("a")
        var = Many("many").make_node(*[neg(neg(mul(a, i))) for i in range(n)]).outputs[0]
        fg = graph_of(var)
        size = len(fg)
        report = PhasedDatabase([CORE, rules]).query("fast_run").rewrite(fg)
        assert report.rules["twice"].hits == n
        work.append((report.visits / size, report.tries / size))
    assert work[1][0] <= work[0][0] * 1.05
    assert work[1][1] <= work[0][1] * 1.05


# Merging as nodes come in


def test_equal_nodes_are_merged_before_any_rule_sees_them() -> None:
    seen: list[str] = []
    rules = RuleSet("toys")

    @rules.rule(Phase.CANONICALIZE, inc)
    def watch(node: Apply) -> None:
        """Nothing -> nothing."""
        seen.append(text(node.outputs[0]))

    rules.law("to_inc", neg(P("x")), inc(P("x")), phase=Phase.CANONICALIZE)
    a = number("a")
    fg = graph([a], neg(a), neg(a), inc(a), add(inc(a), 1), add(inc(a), 1))
    report = PhasedDatabase([CORE, rules]).query("fast_run").rewrite(fg)
    assert seen == ["inc(a)"]
    assert len(fg) == 2
    assert report.rules["merge"].hits == 5
    assert report.rules["to_inc"].hits == 1
    assert fg.outputs[0] is fg.outputs[1]


def test_nodes_that_overwrite_are_not_merged() -> None:
    class Over(type(neg)):  # type: ignore[misc]  # a class made at run time
        destroy_map = {0: [0]}  # noqa: RUF012 - the documented contract

    a = number("a")
    over = Over("neg")
    fg = graph([a], over(inc(a)), over(inc(a)), inc(a))
    PhasedDatabase([CORE]).query("merge").rewrite(fg)
    assert [str(node.op) for node in fg.toposort()].count("inc") == 3
    plain = graph([a], neg(inc(a)), neg(inc(a)), inc(a))
    PhasedDatabase([CORE]).query("merge").rewrite(plain)
    assert len(plain) == 2


def test_many_ops_of_one_class_on_one_input_are_told_apart() -> None:
    a = number("a")
    results = [Unary(f"f{i % 50}")(a) for i in range(200)]
    fg = graph([a], *results)
    PhasedDatabase([CORE]).query("merge").rewrite(fg)
    assert len(fg) == 50
