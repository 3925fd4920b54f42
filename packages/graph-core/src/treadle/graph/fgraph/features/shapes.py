"""ShapeFeature: shapes as expressions, computed on demand and kept while they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import lazy_module
from treadle.graph.errors import GraphValueError
from treadle.graph.fgraph.features.base import Feature

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Sequence

    from treadle.graph.fgraph.function_graph import FunctionGraph
    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.variable import Variable
else:
    inspect = lazy_module("inspect")


def call_infer_shape(
    infer_shape: Callable[..., Any], fgraph: Any, node: Apply, shapes: Sequence[Any]
) -> Sequence[Any] | None:
    """Call an op's ``infer_shape``, or a function in its place, for a node.

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
    result: Sequence[Any] | None
    result = infer_shape(fgraph, node, shapes) if _takes_graph(infer_shape) else infer_shape(node, shapes)
    return result


def _takes_graph(infer_shape: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(infer_shape).parameters.values()
    except ValueError:  # a callable without a signature
        return False
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in places if p.default is p.empty]
    return len(needed) > 2 or (bool(places) and places[0].name == "fgraph")


class ShapeFeature(Feature):
    """Feature that says what shape a variable has in terms of others: ``fgraph.shape_of(var)``.

    A shape is a tuple with an integer or a symbolic integer for each dimension. It comes from
    ``Op.infer_shape(node, input_shapes)`` where the op says so, and from `leaf_shape` for inputs and for
    outputs of other ops. Shapes are computed when they are asked for, once; those that depend on a changed input of
    a node are forgotten. Nothing recurses.

    Parameters
    ----------
    leaf_shape
        Returns the shape of a variable from the variable alone, or None for one that has no shape. It knows the
        arrays: graphs themselves do not.
    """

    def __init__(self, leaf_shape: Callable[[Variable], Sequence[object] | None]) -> None:
        self.leaf_shape = leaf_shape
        self._fgraph: FunctionGraph | None = None
        self._shapes: dict[Variable, tuple[object, ...] | None] = {}
        # The nodes whose outputs' known shapes were found from the shape of a variable.
        self._users: dict[Variable, dict[Apply, None]] = {}
        # How many nodes were asked for their shapes.
        self.inferred = 0

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Install ``shape_of`` and ``shape_feature``; a feature of another graph is refused."""
        self.refuse_second(self._fgraph)
        self.install(fgraph, shape_of=self.shape_of, shape_feature=self)
        self._fgraph = fgraph

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Forget all shapes."""
        self._fgraph = None
        self._shapes.clear()
        self._users.clear()

    def clone(self) -> ShapeFeature:
        """Return a feature for another graph."""
        return type(self)(self.leaf_shape)

    def shape_of(self, var: Variable) -> tuple[Any, ...] | None:
        """Return the shape of a variable, or None for one that has no shape.

        Raises
        ------
        GraphValueError
            If the feature is attached to no graph, or an op's `infer_shape` answers with the wrong number of shapes.
        """
        stack = [var]
        while stack:
            current = stack[-1]
            if current in self._shapes:
                stack.pop()
                continue
            node = self._node_of(current)
            waiting = [] if node is None else [x for x in node.inputs if x not in self._shapes]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            if node is None:
                self._shapes[current] = self._leaf(current)
            else:
                self._infer(node)
        return self._shapes[var]

    def _node_of(self, var: Variable) -> Apply | None:
        graph = self._fgraph
        if graph is None:
            msg = "ShapeFeature: the feature is attached to no graph. Attach it first."
            raise GraphValueError(msg)
        return None if graph.is_given(var) else var.owner

    def _leaf(self, var: Variable) -> tuple[object, ...] | None:
        shape = self.leaf_shape(var)
        return None if shape is None else tuple(shape)

    def _infer(self, node: Apply) -> None:
        """Find the shapes of a node's outputs from those of its inputs."""
        self.inferred += 1
        shapes = call_infer_shape(node.op.infer_shape, self._fgraph, node, [self._shapes[x] for x in node.inputs])
        if shapes is None:
            shapes = [None] * len(node.outputs)
        if len(shapes) != len(node.outputs):
            msg = (
                f"{node.op}: infer_shape returned {len(shapes)} shapes for {len(node.outputs)} outputs{node.where()}. "
                "Return one for each output, or None."
            )
            raise GraphValueError(msg)
        for out, shape in zip(node.outputs, shapes, strict=True):
            self._shapes[out] = self._leaf(out) if shape is None else tuple(shape)
        for x in node.inputs:
            self._users.setdefault(x, {})[node] = None

    # Forgetting

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply, i: int, var: Variable, new_var: Variable, reason: str | None = None
    ) -> None:
        """Forget the shapes that depend on the node's outputs."""
        users = self._users.get(var)
        if users is not None:
            users.pop(node, None)
        self._forget(node)

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: str | None) -> None:
        """Forget the shapes of the node's outputs."""
        self._forget(node)
        for x in node.inputs:
            users = self._users.get(x)
            if users is not None:
                users.pop(node, None)
                if not users:
                    del self._users[x]

    def _forget(self, node: Apply) -> None:
        pending = [node]
        while pending:
            current = pending.pop()
            for out in current.outputs:
                if self._shapes.pop(out, self) is not self:
                    pending.extend(self._users.pop(out, ()))

    def __getstate__(self) -> dict[str, object]:
        """Leave the known shapes out of pickles."""
        return {"leaf_shape": self.leaf_shape, "_fgraph": None, "_shapes": {}, "_users": {}, "inferred": 0}
