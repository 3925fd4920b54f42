"""Calling an op's ``infer_shape`` in either of its documented forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import lazy_module

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Sequence

    from treadle.graph.ir.apply import Apply
else:
    inspect = lazy_module("inspect")


def call_infer_shape(
    infer_shape: Callable[..., Any], fgraph: Any, node: Apply, shapes: Sequence[Any]
) -> Sequence[Any] | None:
    """Return what an op's ``infer_shape``, or a function given in its place, says of a node.

    Parameters
    ----------
    infer_shape
        A callable ``(node, shapes)``, or one of the older form ``(fgraph, node, shapes)``.
    fgraph
        The graph that the node belongs to.
    node
        The node.
    shapes
        The shape of each input, None where it has none.
    """
    found: Sequence[Any] | None
    found = infer_shape(fgraph, node, shapes) if _takes_graph(infer_shape) else infer_shape(node, shapes)
    return found


def _takes_graph(infer_shape: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(infer_shape).parameters.values()
    except ValueError:  # a callable without a signature
        return False
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in places if p.default is p.empty]
    return len(needed) > 2 or (bool(places) and places[0].name == "fgraph")
