"""Which values must be known before JAX compiles: those that decide shapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from treadle.graph import Constant, Unsupported
from treadle.tensor import DimShuffle, Elemwise, Join, Shape, ShapeI, Subtensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.graph import Apply, FunctionGraph, Variable

# Between an input vector of lengths and a shape, only ops that pick and combine single lengths are taken.
_PICKING = (Elemwise, Subtensor, DimShuffle, Join)
# Their results are known from the shapes of their inputs, which JAX knows.
_SHAPES = (Shape, ShapeI)


@dataclass(slots=True)
class Staging:
    """What is known before compiling.

    Attributes
    ----------
    known
        Variables whose values are NumPy arrays while the graph is traced: constants, inputs taken by value, shapes,
        and what is computed from these.
    refused
        Nodes whose shape depends on data, each with the reason.
    """

    known: set[Variable] = field(default_factory=set)
    refused: list[tuple[Apply, Unsupported]] = field(default_factory=list)

    def on_host(self, node: Apply) -> bool:
        """Whether a node is computed with NumPy, once per compilation, because its value decides a shape."""
        return not isinstance(node.op, _SHAPES) and any(v in self.known for v in node.outputs)


def static_positions(node: Apply) -> Sequence[int]:
    """Return the positions of a node's inputs that must be known."""
    return [at for at in node.op.static_inputs if at < len(node.inputs)]


def _is_length_input(var: Any, combined: bool) -> bool:
    """Whether an input may be taken by value: a scalar, or a vector of integers that lengths are picked from."""
    ndim = getattr(var.type, "ndim", None)
    if ndim == 0:
        return True
    return ndim == 1 and not combined and var.type.numpy_dtype.kind in "iu"


class _Search:
    def __init__(self, inputs: Iterable[Variable]) -> None:
        self.staging = Staging()
        self._inputs = set(inputs)
        self._seen: set[tuple[Variable, bool]] = set()

    def require(self, var: Variable) -> Variable | None:
        """Make a variable known; return the input that prevents it, or None."""
        pending = [(var, False)]
        while pending:
            key = pending.pop()
            if key in self._seen:
                continue
            at, combined = key
            node = None if at in self._inputs else at.owner
            if node is None and not isinstance(at, Constant) and not _is_length_input(at, combined):
                return at
            self._seen.add(key)
            self.staging.known.add(at)
            if node is not None and not isinstance(node.op, _SHAPES):
                combined = combined or not isinstance(node.op, _PICKING)
                pending += [(x, combined) for x in node.inputs]
        return None


def find_static(fgraph: FunctionGraph, order: Sequence[Apply]) -> Staging:
    """Return what must be known before compiling, found by going back from the inputs that decide shapes.

    Parameters
    ----------
    fgraph
        The graph.
    order
        Its nodes.
    """
    search = _Search(fgraph.inputs)
    for node in order:
        for at in static_positions(node):
            data = search.require(node.inputs[at])
            if data is not None:
                why = (
                    f"its input {at} ({node.inputs[at]}) decides a shape and depends on the values of {data}; JAX "
                    "needs shapes known before it compiles"
                )
                search.staging.refused.append((node, Unsupported(why)))
                break
    return search.staging
