"""Rewriters of nodes that are registered by the documented decorators."""

from __future__ import annotations

import subprocess
import sys
from abc import ABC
from importlib import import_module
from typing import Any

import pytest

import treadle.tensor as tt
from treadle.graph import FunctionGraph
from treadle.rewrite import (
    EquilibriumDB,
    EquilibriumGraphRewriter,
    OpPattern,
    RewriteDatabaseQuery,
    RewriterTypeError,
    SequenceDB,
)
from treadle.rewrite.explanation import rules_for
from treadle.surface.ops.op_names import All, Argmax, CAReduce, CumOp, Max, Prod, Sum
from treadle.surface.registration import broadcasted_by, elemwise_of
from treadle.surface.rewriters import PatternNodeRewriter, WalkingGraphRewriter, graph_rewriter, in2out, node_rewriter
from treadle.tensor.reductions.reduction import Reduction

# Its names are found when they are asked for.
ts: Any = import_module("treadle.scalar")

PROGRAM = """
import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import node_rewriter
from treadle.scalar import Sin
from treadle.tensor.rewriting.basic import elemwise_of, register_canonicalize, register_specialize

@register_specialize("a_tag")
@register_canonicalize
@node_rewriter([elemwise_of(Sin)])
def cosine_for_sine(fgraph, node):
    return [tt.cos(node.inputs[0])]

x = tt.dvector("x")
print(function([x], tt.sin(x), mode="FAST_RUN")([0.0])[0], cosine_for_sine)
"""


def test_registered_rewriter_is_used_by_the_modes() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout == "1.0 cosine_for_sine\n", done.stderr


def test_scalar_op_or_its_class_gives_the_elementwise_op() -> None:
    assert elemwise_of(tt.exp.scalar_op) == tt.exp  # type: ignore[arg-type]  # a scalar op


def test_shorter_tensor_is_broadcast() -> None:
    v, m, row = tt.dvector(), tt.dmatrix(), tt.drow()
    assert [broadcasted_by(x, y) for x, y in ((v, m), (m, v), (row, m), (m, row))] == [True, False, True, False]


def _looked_at(tracked: Any, walking: bool = False) -> list[str]:
    """Return the ops that a rewriter with tracked ops gets to see, in a graph with ops of many kinds."""
    x, i = tt.dmatrix("x"), tt.lmatrix("i")
    outputs = [
        tt.max(x), tt.min(x, axis=0), tt.sum(x, axis=1), tt.prod(x), tt.all(i), tt.argmax(x), tt.argmin(x, axis=0),
        tt.cumsum(x, axis=0), tt.cumprod(x, axis=1), i.astype("float32"), tt.exp(x) * x, tt.log(x),
    ]  # fmt: skip
    seen: list[str] = []

    @node_rewriter([tracked])
    def looking(fgraph: FunctionGraph, node: Any) -> None:
        del fgraph
        seen.append(str(node.op).split("{")[0] if not hasattr(node.op, "kind") else node.op.kind)

    graph = FunctionGraph([x, i], outputs, clone=True)
    (WalkingGraphRewriter(looking) if walking else EquilibriumGraphRewriter([looking])).rewrite(graph)
    return sorted(set(seen))


TRACKED: list[tuple[Any, list[str]]] = [
    (Max, ["max"]),
    (Sum, ["sum"]),
    (Prod, ["prod"]),
    (All, ["all"]),
    (Argmax, ["argmax"]),
    (CumOp, ["prod", "sum"]),
    (CAReduce, ["all", "max", "min", "prod", "sum"]),
    (elemwise_of(ts.Cast), ["Cast_float32"]),
    (elemwise_of(ts.Exp), ["Exp"]),
    (elemwise_of(ts.UnaryScalarOp), ["Cast_float32", "Exp", "Log"]),
    (elemwise_of(OpPattern(ts.Exp)), ["Exp"]),
    (OpPattern(tt.Elemwise, scalar_op=ts.Log), ["Log"]),
    (OpPattern(Reduction, kind="sum", axes=(1,)), ["sum"]),
    (OpPattern((Reduction, tt.Accumulation), {"kind": "prod"}), ["prod"]),
    (OpPattern(CAReduce, kind="max"), ["max"]),
    (lambda op: isinstance(op, Reduction) and op.kind.startswith("m"), ["max", "min"]),
    (type(tt.max(tt.dvector()).owner.op), ["all", "max", "min", "prod", "sum"]),  # type: ignore[union-attr]  # it has one
]


@pytest.mark.parametrize("walking", [False, True])
@pytest.mark.parametrize("at", range(len(TRACKED)))
def test_classes_that_stand_for_ops_of_a_kind_are_tracked(at: int, walking: bool) -> None:
    tracked, seen = TRACKED[at]
    assert _looked_at(tracked, walking) == seen


def test_a_class_that_stands_for_no_ops_is_not_tracked() -> None:
    with pytest.raises(RewriterTypeError, match="tracks ops or classes of ops"):
        node_rewriter([ts.Exp])


class Marked(ABC):  # noqa: B024 - what counts is its metaclass
    """A class of users, beside those of ops."""


class MarkedMax(Marked, Max):
    """Maxima that are marked."""


def test_ops_of_a_class_derived_from_a_kind_are_seen_by_what_tracks_either() -> None:
    x = tt.dmatrix("x")
    seen: list[tuple[str, bool]] = []

    def looking(name: str, tracked: Any) -> Any:
        @node_rewriter([tracked])
        def look(fgraph: FunctionGraph, node: Any) -> None:
            del fgraph
            seen.append((name, isinstance(node.op, MarkedMax)))

        return look

    graph = FunctionGraph([x], [MarkedMax((0,))(x), tt.max(x), tt.sum(x)], clone=True)
    EquilibriumGraphRewriter([looking("kind", Max), looking("own", MarkedMax)]).rewrite(graph)
    assert sorted(set(seen)) == [("kind", False), ("kind", True), ("own", True)]


def test_a_pattern_of_ops_is_compared_shown_and_used_in_patterns_of_graphs() -> None:
    pattern = OpPattern(tt.Elemwise, scalar_op=OpPattern(ts.Exp))
    assert pattern == elemwise_of(ts.Exp)
    assert len({pattern, elemwise_of(ts.Exp)}) == 1
    assert str(pattern) == "OpPattern(Elemwise, scalar_op=OpPattern(Exp))"
    assert pattern.match_op(tt.exp)
    assert not pattern(tt.log)
    x = tt.dvector("x")
    rewriter = PatternNodeRewriter((pattern, "x"), (tt.sin, "x"))
    graph = FunctionGraph([x], [tt.exp(x)], clone=True)
    in2out(rewriter).rewrite(graph)
    assert graph.outputs[0].owner is not None
    assert graph.outputs[0].owner.op == tt.sin
    with pytest.raises(RewriterTypeError, match="OpPattern: a class and its parameters are needed"):
        OpPattern("Elemwise")
    with pytest.raises(RewriterTypeError, match="as a mapping or by name, got both"):
        OpPattern(tt.Elemwise, {"a": 1}, b=2)


def test_rules_for_a_kind_of_op_are_listed() -> None:
    assert {card.name for card in rules_for(Sum)} == {card.name for card in rules_for(Reduction)}


def test_rewriters_have_the_name_of_their_function() -> None:
    tracked: Any = Max

    @node_rewriter([tracked])
    def local(fgraph: FunctionGraph, node: Any) -> None:
        del fgraph, node

    @graph_rewriter
    def whole(fgraph: FunctionGraph) -> None:
        del fgraph

    assert (local.__name__, whole.__name__) == ("local", "whole")
    database = EquilibriumDB()
    database.register("another", local, "tag")
    assert local.__name__ == "local"


def test_a_database_may_have_another_name_in_each_database_around() -> None:
    seen = []

    @node_rewriter([tt.exp])
    def looking(fgraph: FunctionGraph, node: Any) -> None:
        del fgraph
        seen.append(node)

    inner, first, second = EquilibriumDB(), SequenceDB(), SequenceDB()
    inner.name = "own"
    inner.register("looking", looking, "basic")
    first.register("inner", inner, "basic", position=1)
    second.register("under_another_name", inner, "basic", position=1)
    x = tt.dvector("x")
    for database in (first, second):
        seen.clear()
        database.query(RewriteDatabaseQuery(["basic"])).rewrite(FunctionGraph([x], [tt.exp(x)], clone=True))
        assert len(seen) == 1
    assert second["under_another_name"] is inner
    assert second.query("basic", "-under_another_name").rewrite(FunctionGraph([x], [tt.exp(x)], clone=True)) is not None
