"""What must be known before a graph is traced: the values that decide shapes.

JAX and PyTorch compile code for shapes that are known while they trace it. So what stands at an op's `static_inputs`
must be known then, and what it is computed from: constants, shapes of tensors, and inputs of the graph that programs
take by value. A graph in which it depends on other values is refused by JAX; PyTorch runs it operation by operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Constant, Unsupported
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.indexing.indexing import Subtensor
from treadle.tensor.joins.joining import Join
from treadle.tensor.shapes.dimshuffle import DimShuffle
from treadle.tensor.shapes.shape import Shape, ShapeI
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from treadle.graph import Apply, FunctionGraph, Variable

__all__ = ["Staging", "shape_values", "stage", "static_positions"]


class Staging:
    """The values that must be known before a graph is traced.

    Attributes
    ----------
    known
        Variables that decide shapes: constants, inputs taken by value, shapes, and what is computed from these.
    refused
        Nodes with a shape that depends on other values, each with the reason.
    """

    __slots__ = ("known", "refused")

    def __init__(self) -> None:
        self.known: set[Variable] = set()
        self.refused: list[tuple[Apply, Unsupported]] = []

    def on_host(self, node: Apply) -> bool:
        """Whether a node computes from known values what decides a shape; shapes themselves tracing knows."""
        return not isinstance(node.op, Shape | ShapeI) and any(v in self.known for v in node.outputs)


def static_positions(node: Apply) -> list[int]:
    """Return the positions of the inputs that decide shapes."""
    return [at for at in node.op.static_inputs if at < len(node.inputs)]


def stage(
    fgraph: FunctionGraph,
    order: Sequence[Apply],
    *,
    data: bool,
    varying: Collection[Variable] = (),
    positions: Callable[[Apply], Sequence[int]] = static_positions,
) -> Staging:
    """Return what must be known before a graph is traced, found by going back from the inputs that decide shapes.

    Parameters
    ----------
    fgraph
        The graph.
    order
        Its nodes.
    data
        Whether data may decide shapes, as any vector. If not, of vectors those of integers may from which lengths are
        picked: code is then compiled for each value, and data has too many.
    varying
        Inputs that cannot be taken by value.
    positions
        Returns the positions of the inputs of a node that decide shapes.
    """
    staging = Staging()
    inputs = set(fgraph.inputs)
    seen: set[tuple[Variable, bool]] = set()

    def culprit_of(var: Variable) -> Variable | None:
        """Make a variable known; return the input that prevents it, or None."""
        pending = [(var, False)]
        visited: set[tuple[Variable, bool]] = set()
        while pending:
            key = pending.pop()
            if key in seen or key in visited:
                continue
            visited.add(key)
            at, combined = key
            node = None if at in inputs else at.owner
            if node is None:
                if not isinstance(at, Constant) and (at in varying or not _is_taken(at, data, combined)):
                    return at
            elif not isinstance(node.op, Shape | ShapeI):
                picks = data or isinstance(node.op, Elemwise | Subtensor | DimShuffle | Join)
                pending += [(x, combined or not picks) for x in node.inputs]
        seen.update(visited)
        staging.known.update(at for at, _ in visited)
        return None

    for node in order:
        for at in positions(node):
            var = node.inputs[at]
            culprit = culprit_of(var)
            if culprit is not None:
                origin = f", computed by {var.owner.op}{var.owner.where()}," if var.owner is not None else ""
                reason = (
                    f"its input {at} ({var}){origin} decides a shape and depends on the values of {culprit}; compiled "
                    "code has shapes known before it runs"
                )
                remedy = "make what decides the shape an input of the function, a scalar or a vector of lengths"
                staging.refused.append((node, Unsupported(reason, remedy)))
                break
    return staging


def shape_values(fgraph: FunctionGraph, var: Variable) -> set[Variable]:
    """Return a value and what it is computed from, if it follows from shapes and constants alone; else nothing."""
    inputs = set(fgraph.inputs)
    pending, values = [var], set()
    while pending:
        at = pending.pop()
        if at in values:
            continue
        values.add(at)
        node = None if at in inputs else at.owner
        if node is None:
            if not isinstance(at, Constant):
                return set()
        elif not isinstance(node.op, Shape | ShapeI):
            pending += node.inputs
    return values


def _is_taken(var: Variable, data: bool, combined: bool) -> bool:
    """Whether an input may be taken by value; `combined` if an op stands between that does more than pick lengths."""
    kind = var.type
    if not isinstance(kind, TensorType) or kind.ndim > 1:
        return False
    return kind.ndim == 0 or data or (not combined and kind.numpy_dtype.kind in "iu")
