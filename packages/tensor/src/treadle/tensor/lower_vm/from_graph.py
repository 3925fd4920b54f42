"""Ops made of graphs on the VM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.vm import TABLE
from treadle.tensor.embedding.from_graph import OpFromGraph

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@TABLE.register(OpFromGraph)
def lower(op: OpFromGraph, node: Apply) -> Callable[..., object] | None:
    """Return the function of the inner graph, compiled once for all nodes of the op."""
    if type(op).perform is not OpFromGraph.perform:
        return None
    run = op.fn
    if len(node.outputs) == 1:
        return lambda *values: run(*values)[0]
    return lambda *values: tuple(run(*values))
