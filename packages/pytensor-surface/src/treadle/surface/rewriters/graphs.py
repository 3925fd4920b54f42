"""Rewriting of parts of graphs, and the nodes around a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import FunctionGraph, Variable, explicit_graph_inputs
from treadle.rewrite import rewrite_graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from treadle.graph import Apply


def rewrite_subgraph(
    outputs: Sequence[Variable],
    frontier: Sequence[Variable],
    include: Iterable[str] = ("canonicalize",),
    **options: Any,
) -> list[Variable]:
    """Rewrite the nodes between variables and the outputs; those that compute the variables are left alone.

    Parameters
    ----------
    outputs
        The outputs.
    frontier
        Variables that are taken as given.
    include, options
        As for `rewrite_graph`.

    Returns
    -------
    The new outputs.
    """
    other_inputs = [var for var in explicit_graph_inputs(list(outputs)) if var not in set(frontier)]
    fgraph = FunctionGraph([*frontier, *other_inputs], list(outputs), clone=False)
    rewrite_graph(fgraph, include, **options)
    return list(fgraph.outputs)


def get_clients_at_depth(fgraph: FunctionGraph, node: Apply, depth: int) -> Iterator[Apply]:
    """Yield the nodes that use a node's outputs, `depth` steps away; 0 is the node itself."""
    level: dict[Apply, None] = {node: None}
    for _ in range(depth):
        level = {
            client: None
            for below in level
            for out in below.outputs
            for client, _ in fgraph.get_clients(out)
            if client.outputs
        }
    yield from level
