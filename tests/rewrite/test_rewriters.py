"""Rewriters of nodes and of whole graphs: what each does, and what it refuses."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.rewrite.toys import Word, add, div, graph, graph_of, inc, mul, neg, number, rewritten_text, text
from treadle.config import config
from treadle.graph import DestroyHandler, Feature, FunctionGraph, NodeFinder, Op, explicit_graph_inputs
from treadle.rewrite import (
    EquilibriumGraphRewriter,
    GraphRewriter,
    NodeRewriter,
    RewriteError,
    RewriterTypeError,
    RewriteWarning,
    SequentialGraphRewriter,
    rewrite_graph,
)
from treadle.surface.rewriters import (
    FromFunctionGraphRewriter,
    FromFunctionNodeRewriter,
    RemovalNodeRewriter,
    SequentialNodeRewriter,
    SubstitutionNodeRewriter,
    WalkingGraphRewriter,
    get_clients_at_depth,
    graph_rewriter,
    in2out,
    inplace_graph_rewriter,
    node_rewriter,
    out2in,
    rewrite_subgraph,
)

if TYPE_CHECKING:
    from treadle.graph import Apply


# Decorators


def test_decorated_function_becomes_a_rewriter_of_nodes() -> None:
    @node_rewriter([neg])
    def swap(_fgraph: FunctionGraph, node: Apply) -> Any:
        """neg(x) -> inc(x)."""
        return [inc(*node.inputs)]

    assert isinstance(swap, FromFunctionNodeRewriter)
    assert (swap.name, swap.tracks(), swap.__doc__) == ("swap", (neg,), "neg(x) -> inc(x).")
    node = neg(number("a")).owner
    assert node is not None
    replacement: Any = swap.transform(graph_of(node.outputs[0]), node)
    assert text(replacement[0]) == "inc(a)"
    assert rewritten_text(swap, neg(neg(number("a")))) == "inc(inc(a))"


@pytest.mark.parametrize("tracks", [[], 3, neg, [3], ["neg"], type(neg), "neg"])
def test_what_cannot_be_tracked_is_refused(tracks: Any) -> None:
    with pytest.raises(RewriterTypeError, match="node_rewriter: tracks"):
        node_rewriter(tracks)


def test_decorators_want_functions() -> None:
    with pytest.raises(RewriterTypeError, match="node_rewriter: decorates a function, got 3"):
        node_rewriter(None)(3)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(TypeError, match="graph_rewriter: decorates a function"):
        graph_rewriter(3)  # type: ignore[arg-type]  # what is tested


def test_rewriter_that_tracks_nothing_sees_every_node_and_false_means_no_change() -> None:
    seen: list[str] = []

    @node_rewriter(None)
    def watch(_fgraph: FunctionGraph, node: Apply) -> Any:
        """Nothing -> nothing."""
        seen.append(str(node.op))
        return False

    assert rewritten_text(watch, neg(inc(number("a")))) == "neg(inc(a))"
    assert sorted(seen) == ["inc", "neg"]


def test_requirements_are_attached_and_stay() -> None:
    called: list[FunctionGraph] = []

    @node_rewriter([neg], requirements=(NodeFinder, called.append))
    def swap(fgraph: FunctionGraph, node: Apply) -> Any:
        """Nothing -> nothing."""
        assert fgraph.get_nodes(neg) == [node]

    fg = graph_of(neg(number("a")))
    EquilibriumGraphRewriter([swap]).rewrite(fg)
    assert [type(f) for f in fg.features] == [NodeFinder]
    assert called == [fg]


def test_in_place_rewriters_attach_a_destroy_handler_to_the_graph() -> None:
    @node_rewriter([neg], inplace=True)
    def nothing(fgraph: FunctionGraph, node: Apply) -> Any:
        """Nothing -> nothing."""

    @inplace_graph_rewriter
    def whole(fgraph: FunctionGraph) -> Any:
        """Nothing -> nothing."""

    for rewriter in (EquilibriumGraphRewriter([nothing]), whole):
        fg = graph_of(neg(number("a")))
        rewriter.rewrite(fg)
        assert [type(f) for f in fg.features] == [DestroyHandler]


def test_subclass_of_graph_rewriter_takes_part_and_counts() -> None:
    class Swap(GraphRewriter):
        def apply(self, fgraph: FunctionGraph) -> int:
            nodes = [node for node in fgraph.toposort() if node.op == neg]
            for node in nodes:
                fgraph.replace(node.outputs[0], inc(*node.inputs), "Swap")
            return len(nodes)

    fg = graph_of(neg(neg(number("a"))))
    report = Swap()(fg)
    assert text(fg.outputs[0]) == "inc(inc(a))"
    assert report.rules["Swap"].hits == 2
    assert report.rules["Swap"].added == 2
    assert [(f.rule, str(f.op)) for f in report.firings] == [("Swap", "neg"), ("Swap", "neg")]
    assert Swap().rules == ("Swap",)


def test_mapping_may_replace_other_variables_and_demand_removal() -> None:
    @node_rewriter([neg])
    def up(_fgraph: FunctionGraph, node: Apply) -> Any:
        """neg(inc(x)) -> neg(neg(x)) without inc."""
        below = node.inputs[0]
        if below.owner is None or below.owner.op != inc:
            return None
        return {below: neg(below.owner.inputs[0]), "remove": [below]}

    a = number("a")
    assert rewritten_text(up, neg(inc(a))) == "neg(neg(a))"

    @node_rewriter([neg])
    def wrong(_fgraph: FunctionGraph, node: Apply) -> Any:
        """neg(x) -> inc(x), demanding that x be gone."""
        return {node.outputs[0]: inc(node.inputs[0]), "remove": [node.inputs[0]]}

    fg = graph([a], neg(inc(a)))
    with pytest.raises(RewriteError, match=r"'wrong'.*is still in use"):
        EquilibriumGraphRewriter([wrong]).rewrite(fg)
    assert text(fg.outputs[0]) == "neg(inc(a))"


# Sequences


def swapping(old: Op, new: Any, name: str) -> FromFunctionNodeRewriter:
    @node_rewriter([old], depth=1)
    def swap(_fgraph: FunctionGraph, node: Apply) -> Any:
        """Swap two ops."""
        return [new(*node.inputs)]

    swap.name = name
    return swap


def test_sequence_of_node_rewriters_tracks_what_any_of_them_tracks() -> None:
    pair = SequentialNodeRewriter(swapping(neg, inc, "a"), swapping(inc, neg, "b"))
    assert pair.tracks() == (neg, inc)
    assert pair.depth == 1
    free = SequentialNodeRewriter(swapping(neg, inc, "a"), FromFunctionNodeRewriter(lambda _fgraph, _node: None, None))
    assert free.tracks() is None
    assert free.depth is None


def _note(seen: list[int], i: int, _fgraph: FunctionGraph) -> None:
    seen.append(i)


def test_sequence_of_graph_rewriters_runs_in_order() -> None:
    seen: list[int] = []
    steps = [FromFunctionGraphRewriter(partial(_note, seen, i)) for i in range(3)]
    rewriter = SequentialGraphRewriter(*steps)
    rewriter.rewrite(graph_of(neg(number("a"))))
    assert seen == [0, 1, 2]
    assert (len(rewriter), list(rewriter), rewriter[1]) == (3, steps, steps[1])


# Walks


def test_walk_goes_over_every_node_once_in_its_direction() -> None:
    seen: list[str] = []

    @node_rewriter([neg, inc])
    def watch(_fgraph: FunctionGraph, node: Apply) -> Any:
        """Nothing -> nothing."""
        seen.append(str(node.op))

    for walk in (in2out, out2in):
        walk(watch).rewrite(graph_of(neg(inc(number("a")))))
    assert seen == ["inc", "neg", "neg", "inc"]


def test_walk_looks_at_new_nodes_unless_told_not_to() -> None:
    grown = swapping(neg, lambda x: inc(inc(x)), "grown")
    shrunk = swapping(inc, lambda x: mul(x, 2), "shrunk")
    fg = graph_of(neg(number("a")))
    in2out(grown, shrunk).rewrite(fg)
    assert text(fg.outputs[0]) == "mul(mul(a, 2), 2)"
    fg = graph_of(neg(number("a")))
    in2out(grown, shrunk, ignore_newtrees=True).rewrite(fg)
    assert text(fg.outputs[0]) == "inc(inc(a))"


def test_walk_does_not_come_back_to_clients() -> None:
    seen: list[str] = []

    @node_rewriter([inc, neg])
    def step(_fgraph: FunctionGraph, node: Apply) -> Any:
        """inc(x) -> x * 2."""
        seen.append(str(node.op))
        return [mul(node.inputs[0], 2)] if node.op == inc else None

    out2in(step).rewrite(graph_of(neg(inc(number("a")))))
    assert seen == ["neg", "inc"]


def test_names_and_wrong_arguments_of_walks() -> None:
    assert in2out(swapping(neg, inc, "one")).name == "one"
    assert out2in(swapping(neg, inc, "one"), name="mine").name == "mine"
    with pytest.raises(RewriterTypeError, match="order must be 'in_to_out' or 'out_to_in', got 'up'"):
        WalkingGraphRewriter(swapping(neg, inc, "one"), "up")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(TypeError, match="a rewriter of nodes is needed, got 3"):
        WalkingGraphRewriter(3)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(TypeError, match="a rewriter is needed, got 'x'"):
        EquilibriumGraphRewriter(["x"])  # type: ignore[list-item]  # what is tested


def failing(error: Exception) -> NodeRewriter:
    @node_rewriter([neg])
    def fails(_fgraph: FunctionGraph, _node: Apply) -> Any:
        """neg(x) -> an error."""
        raise error

    return fails


def test_failure_callback_takes_the_place_of_the_option() -> None:
    failures: list[tuple[Exception, str]] = []
    error = KeyError("no")
    for rewriter in (
        EquilibriumGraphRewriter([failing(error)], lambda e, _run, node: failures.append((e, str(node.op)))),
        in2out(failing(error), failure_callback=lambda e, _run, node: failures.append((e, str(node.op)))),
    ):
        report = rewriter.rewrite(graph_of(neg(number("a"))))
        assert [name for name, _ in report.failures] == ["fails"]
    assert failures == [(error, "neg")] * 2


# Equilibria


def test_rewriter_of_unknown_depth_is_tried_again_after_a_change_far_below() -> None:
    @node_rewriter([mul])
    def far(_fgraph: FunctionGraph, node: Apply) -> Any:
        """X * 2, where inc is nowhere below -> x."""
        var = node.inputs[0]
        while var.owner is not None:
            if var.owner.op == inc:
                return None
            var = var.owner.inputs[0]
        return [node.inputs[0]]

    var = inc(number("a"))
    for _ in range(6):
        var = neg(var)
    fg = graph_of(mul(var, 2))
    # Declared so that it runs after the walk has passed the product.
    EquilibriumGraphRewriter([far, swapping(inc, lambda x: div(x, 3), "late")]).rewrite(fg)
    assert text(fg.outputs[0]) == "neg(neg(neg(neg(neg(neg(div(a, 3)))))))"


def test_whole_and_local_rewriters_alternate_until_nothing_changes() -> None:
    @graph_rewriter
    def outermost(fgraph: FunctionGraph) -> None:
        """neg(...) -> inc(...), for the output only."""
        out = fgraph.outputs[0]
        if out.owner is not None and out.owner.op == neg:
            fgraph.replace(out, inc(*out.owner.inputs))

    dropping = swapping(inc, lambda x: x, "dropping")
    fg = graph_of(neg(neg(neg(number("a")))))
    report = EquilibriumGraphRewriter([outermost, dropping]).rewrite(fg)
    assert text(fg.outputs[0]) == "a"
    assert report.rules["outermost"].tries == 4


def test_whole_rewriter_that_never_settles_is_stopped_and_named() -> None:
    @graph_rewriter
    def restless(fgraph: FunctionGraph) -> None:
        """X -> x anew."""
        out = fgraph.outputs[0]
        assert out.owner is not None
        fgraph.replace(out, out.owner.op(*out.owner.inputs))

    with pytest.raises(RewriteError, match="rules restless: changed the graph in each of 100 rounds"):
        EquilibriumGraphRewriter([restless]).rewrite(graph_of(neg(number("a"))))
    with config.change_flags(on_opt_error="warn"), pytest.warns(RewriteWarning, match="did not come to an end"):
        report = EquilibriumGraphRewriter([restless]).rewrite(graph_of(neg(number("a"))))
    assert report.looping == ["restless"]


@pytest.mark.parametrize("ratio", [0.5, 2])
def test_use_ratio_bounds_the_changes_of_one_rule(ratio: float) -> None:
    @node_rewriter([neg])
    def renewing(_fgraph: FunctionGraph, node: Apply) -> Any:
        """neg(x) -> neg(x) anew."""
        return [neg(*node.inputs)]

    with config.change_flags(on_opt_error="ignore"):
        report = EquilibriumGraphRewriter([renewing], max_use_ratio=ratio).rewrite(graph_of(neg(number("a"))))
        assert report.rules["renewing"].hits == int(ratio * 25) + 1
        with config.change_flags(optdb__max_use_ratio=ratio):
            again = EquilibriumGraphRewriter([renewing]).rewrite(graph_of(neg(number("a"))))
    assert again.rules["renewing"].hits == report.rules["renewing"].hits


# Substitution, removal


def test_substitution_keeps_inputs_and_tags() -> None:
    swap = SubstitutionNodeRewriter(neg, inc)
    var = neg(number("a"))
    var.tag.colour = "red"
    fg = graph_of(var)
    EquilibriumGraphRewriter([swap]).rewrite(fg)
    assert text(fg.outputs[0]) == "inc(a)"
    assert fg.outputs[0].tag.colour == "red"
    assert rewritten_text(SubstitutionNodeRewriter(neg, inc, transfer_tags=False), inc(number("a"))) == "inc(a)"
    with pytest.raises(TypeError, match="an op to replace"):
        SubstitutionNodeRewriter(neg, 3)  # type: ignore[arg-type]  # what is tested


def test_removal_gives_back_inputs() -> None:
    assert rewritten_text(RemovalNodeRewriter(neg), inc(neg(neg(number("a"))))) == "inc(a)"
    assert rewritten_text(RemovalNodeRewriter(add), add(number("a"), number("b"))) == "add(a, b)"
    with pytest.raises(RewriterTypeError, match="an op to remove"):
        RemovalNodeRewriter("neg")  # type: ignore[arg-type]  # what is tested


# rewrite_graph


def test_rewrite_graph_returns_the_like_of_what_it_was_given() -> None:
    a = number("a")
    var = neg(inc(a))
    swap = EquilibriumGraphRewriter([swapping(neg, inc, "swap")])
    one = rewrite_graph(var, custom_rewrite=swap, clone=True)
    assert text(one) == "inc(inc(a))"
    assert next(iter(explicit_graph_inputs([one]))) is a
    assert text(var) == "neg(inc(a))"
    several = rewrite_graph([var, a], custom_rewrite=swap, clone=True)
    assert [text(v) for v in several] == ["inc(inc(a))", "a"]
    fg = graph([a], var)
    assert rewrite_graph(fg, custom_rewrite=swap) is fg
    assert text(fg.outputs[0]) == "inc(inc(a))"


def test_rewrite_graph_takes_a_rewriter_of_nodes_and_refuses_other_things() -> None:
    a = number("a")
    assert text(rewrite_graph(neg(a), custom_rewrite=swapping(neg, inc, "swap"))) == "inc(a)"
    with pytest.raises(TypeError, match="custom_rewrite must be a rewriter, got 3"):
        rewrite_graph(neg(a), custom_rewrite=3)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(RewriterTypeError, match="takes a variable, a list of variables or a FunctionGraph"):
        rewrite_graph(3)


def test_subgraph_is_rewritten_down_to_its_frontier() -> None:
    a = number("a")
    frontier = neg(neg(a))
    swap = swapping(neg, inc, "swap")
    (out,) = rewrite_subgraph([neg(frontier)], [frontier], custom_rewrite=swap)
    assert text(out) == "inc(neg(neg(a)))"


def test_clients_are_found_at_a_depth() -> None:
    a = number("a")
    below = inc(a)
    fg = graph([a], neg(neg(below)), mul(below, 2))
    node = below.owner
    assert node is not None
    assert [[str(n.op) for n in get_clients_at_depth(fg, node, d)] for d in range(3)] == [
        ["inc"],
        ["neg", "mul"],
        ["neg"],
    ]


# Features that refuse


class NoMul(Feature):
    """Refuses products."""

    def validate(self, fgraph: FunctionGraph) -> None:
        from treadle.graph import InconsistencyError

        if any(node.op == mul for node in fgraph.apply_nodes):
            msg = "no products here"
            raise InconsistencyError(msg)


def test_refused_change_is_undone_and_counted() -> None:
    fg = graph_of(neg(inc(number("a"))))
    fg.attach_feature(NoMul())
    rules = [swapping(neg, lambda x: mul(x, 2), "product"), swapping(inc, neg, "fine")]
    report = EquilibriumGraphRewriter(rules).rewrite(fg)
    assert text(fg.outputs[0]) == "neg(neg(a))"
    assert report.rules["product"].refused >= 1
    assert report.rules["product"].hits == 0
    fg.check_integrity()


def test_fast_cycle_detection_checks_once_and_undoes_the_stage() -> None:
    fg = graph_of(neg(inc(number("a"))))
    fg.attach_feature(NoMul())
    rules = [swapping(neg, lambda x: mul(x, 2), "product"), swapping(inc, neg, "fine")]
    with config.change_flags(cycle_detection="fast", on_opt_error="ignore"):
        report = EquilibriumGraphRewriter(rules, name="stage").rewrite(fg)
    assert text(fg.outputs[0]) == "neg(inc(a))"
    assert report.rules["stage"].refused == 1
    fg.check_integrity()


def test_failing_pass_leaves_the_graph_as_it_was() -> None:
    @graph_rewriter
    def half(fgraph: FunctionGraph) -> None:
        """neg(x) -> inc(x), and an error."""
        out = fgraph.outputs[0]
        assert out.owner is not None
        fgraph.replace(out, inc(*out.owner.inputs))
        msg = "half done"
        raise OSError(msg)

    fg = graph_of(neg(number("a")))
    with pytest.raises(RewriteError, match=r"rule 'half': failed \(OSError: half done\)"):
        half.rewrite(fg)
    assert text(fg.outputs[0]) == "neg(a)"
    with config.change_flags(on_opt_error="warn"), pytest.warns(RewriteWarning, match="'half': failed"):
        report = half.rewrite(fg)
    assert text(fg.outputs[0]) == "neg(a)"
    assert report.failures == [("half", "OSError: half done")]
    fg.check_integrity()
    assert fg.features == ()


def test_pass_that_a_feature_refuses_is_undone() -> None:
    @graph_rewriter
    def product(fgraph: FunctionGraph) -> None:
        """neg(x) -> x * 2."""
        out = fgraph.outputs[0]
        assert out.owner is not None
        fgraph.replace(out, mul(out.owner.inputs[0], 2))

    fg = graph_of(neg(number("a")))
    fg.attach_feature(NoMul())
    with config.change_flags(on_opt_error="ignore"):
        product.rewrite(fg)
    assert text(fg.outputs[0]) == "neg(a)"


def test_replacement_by_another_type_is_refused() -> None:
    word = Word().make_variable("w")

    @node_rewriter([neg])
    def wrong(_fgraph: FunctionGraph, _node: Apply) -> Any:
        """neg(x) -> a word."""
        return [word]

    with pytest.raises(RewriteError, match="neither equals nor refines"):
        EquilibriumGraphRewriter([wrong]).rewrite(graph_of(neg(number("a"))))
