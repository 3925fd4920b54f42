"""When loops of PyTensor's become loops of treadle's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from treadle.graph import HasInnerGraph
from treadle.rewrite import GraphRewriter

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.rewrite import DefaultDatabase

_BUFFERS = "treadle.as_pytensor.adapters.scan.buffers"


class LoopsOfPyTensor(GraphRewriter):
    """Puts treadle's loops in the place of PyTensor's, also in graphs that ops hold."""

    def __init__(self) -> None:
        self.name = "loops_of_pytensor"

    def apply(self, fgraph: FunctionGraph) -> int:
        """Return how many were put into a graph."""
        buffers = sys.modules.get(_BUFFERS)
        # No graph has such ops before their module is imported.
        return 0 if buffers is None else _expanded(fgraph, buffers.StandsForGraph)


def _expanded(fgraph: FunctionGraph, kind: type) -> int:
    from treadle.as_pytensor.adapters.scan.loops import expand  # noqa: PLC0415 - loaded with the first loop

    changes = expand(fgraph)
    for node in fgraph.toposort():
        op: Any = node.op
        if not isinstance(op, HasInnerGraph) or not hasattr(op, "with_inner_graph") or not _holds(op, kind):
            continue
        inside = op.fgraph.unfreeze()
        changes += _expanded(inside, kind)
        new = op.with_inner_graph(inside).make_node(*node.inputs)
        pairs = [
            (old, old.type.filter_variable(out)) for old, out in zip(node.outputs, new.outputs, strict=True)
            if fgraph.clients.get(old)
        ]  # fmt: skip
        fgraph.replace_all(pairs, "loops_of_pytensor")
    return changes


def _holds(op: Any, kind: type) -> bool:
    """Whether the graph of an op, or of one inside of it, has nodes of a kind of ops."""
    return any(
        isinstance(node.op, kind) or (isinstance(node.op, HasInnerGraph) and _holds(node.op, kind))
        for node in op.fgraph.apply_nodes
    )


def register_loops(database: DefaultDatabase) -> None:
    """Put the pass in front of all phases."""
    database.register("loops_of_pytensor", LoopsOfPyTensor(), "fast_run", "fast_compile", position=0.2)
