"""Rewriting of the graphs inside ops, by a function for each op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from treadle.compile import get_default_mode
from treadle.graph import Apply, HasInnerGraph

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.compile import Mode
    from treadle.graph import FunctionGraph, Op


class Rewrite(Protocol):
    """Rewrites the graph inside an op in place."""

    def __call__(self, linker: object, op: Op, node: Apply, inner: FunctionGraph, *, mode: Mode) -> object:
        """Rewrite `inner`, the graph of `op`, which is a node's."""


def rewrite_inner_graph(fgraph: FunctionGraph, match: Callable[[Op], bool], rewrite: Rewrite) -> None:
    """Rewrite the graphs inside the ops that match, and let the new ops take their places.

    Parameters
    ----------
    fgraph
        The graph that the ops are in; it is changed in place.
    match
        Whether the graph inside an op is to be rewritten.
    rewrite
        Changes a copy of that graph in place. Nodes of equal ops whose inputs are of equal types share it.
    """
    mode = get_default_mode()
    made: dict[tuple[object, ...], Op] = {}
    for node in fgraph.toposort():
        op = node.op
        if not isinstance(op, HasInnerGraph) or not match(op):
            continue
        key = (op, *(x.type for x in node.inputs))
        if key not in made:
            inner = op.fgraph.unfreeze()
            rewrite(mode.linker, op, node, inner, mode=mode)
            made[key] = op.clone_with_inner_graph(inner)  # type: ignore[attr-defined]  # those that match have it
        if made[key] != op:
            new = made[key].make_node(*node.inputs)
            fgraph.replace_all(zip(node.outputs, new.outputs, strict=True), "rewrite_inner_graph")
