"""Expressions with variables replaced by others of their types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import toposort

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from treadle.graph import Variable


def replaced(
    graph: Sequence[Variable], replacements: Mapping[Variable, Variable], blockers: Collection[Variable] | None
) -> list[Variable]:
    """Return expressions with variables replaced; what `blockers` are computed from is left alone."""
    substitutes = dict(replacements)
    for node in toposort(graph, blockers):
        if any(x in substitutes for x in node.inputs):
            new = node.op.make_node_like(node, [substitutes.get(x, x) for x in node.inputs])
            substitutes.update(zip(node.outputs, new.outputs, strict=True))
    return [substitutes.get(var, var) for var in graph]
