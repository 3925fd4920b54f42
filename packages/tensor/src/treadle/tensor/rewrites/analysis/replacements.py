"""What rules return: values brought to the dtype, the rank and the shape of what they replace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Constant
from treadle.tensor.elementwise.cast import cast, second
from treadle.tensor.rewrites.analysis.predicates import made_by
from treadle.tensor.shape_inference.symbolic_shapes import ONE, shapes_of
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.dimshuffle import DimShuffle, dimshuffle, shape_padleft
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.graph import Apply, FunctionGraph
    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorNode, TensorVariable


def broadcast_shape(shapes: SymbolicShapes, *variables: TensorVariable) -> tuple[Length | None, ...]:
    """Return the lengths that variables broadcast to, those of lower rank padded in front."""
    each = [shapes.of(v) for v in variables]
    ndim = max(map(len, each))
    padded = [(ONE,) * (ndim - len(own)) + own for own in each]
    return tuple(shapes.broadcast(at) for at in zip(*padded, strict=True))


def with_operand(node: NodeOf[Elemwise], at: int, x: TensorVariable, others: Sequence[TensorVariable]) -> Any:
    """Return a node's function of other operands: x in a place, which for a commutative function is the last."""
    if node.op.scalar_op.commutative:  # type: ignore[union-attr]  # one function
        return node.op(*others, x)
    return node.op(*others[:at], x, *others[at:])


def as_scalar(x: TensorVariable) -> TensorVariable:
    """Return a tensor of one element as a scalar: the one it was made of, if it was made of one."""
    while x.ndim and (node := made_by(x, DimShuffle)) is not None:
        x = node.inputs[0]
    if x.ndim and isinstance(x, Constant):
        return constant(x.data.reshape(()))
    return dimshuffle(x, *()) if x.ndim else x


def cast_like(out: TensorVariable, value: TensorVariable) -> TensorVariable | None:
    """Return a value in an output's dtype and rank, or None if its type neither equals nor refines the output's."""
    kind = out.type
    if value.ndim > kind.ndim:
        return None
    result = cast(value, kind.dtype)
    if result.ndim < kind.ndim:
        result = shape_padleft(result, kind.ndim - result.ndim)
    return result if kind.is_super(result.type) else None


def broadcast_like(
    fgraph: FunctionGraph, out: TensorVariable, value: Any, dropped: Iterable[TensorVariable]
) -> TensorVariable | None:
    """Return a value in the dtype and shape of an output that was computed from it and from dropped operands.

    A dropped operand may have widened the output: unless lengths are known to be the same, the value is spread over
    it at run time.
    """
    kind = out.type
    if value.ndim > kind.ndim:
        return None
    result: Any = cast(value, kind.dtype)
    if result.ndim < kind.ndim:
        result = shape_padleft(result, kind.ndim - result.ndim)
    shapes = shapes_of(fgraph)
    wanted = shapes.of(out)
    own: tuple[Length | None, ...] = shapes.of(result)
    for other in dropped:
        if own == wanted:
            break
        together = broadcast_shape(shapes, result, other)
        if together != own:
            result = second(other, result)
            own = shapes.of(result)
    return result if kind.is_super(result.type) else None


def alloc_like(fgraph: FunctionGraph, node: TensorNode, value: TensorVariable) -> TensorVariable | None:
    """Return a value broadcast to the shape of a node's output; None if its lengths cannot be built otherwise."""
    out = node.outputs[0]
    shapes = shapes_of(fgraph)
    lengths = shapes.variables(map(shapes.unchecked, shapes.of(out)), fgraph, avoid=out)
    return None if lengths is None else if_fits(node, Alloc()(value, *lengths) if lengths else value)


def if_fits(node: Apply, replacement: TensorVariable) -> TensorVariable | None:
    """Return a replacement of a node's output if its type equals or refines the output's."""
    return replacement if replacement is not None and node.outputs[0].type.is_super(replacement.type) else None


def credited(fgraph: FunctionGraph, replacement: TensorVariable, node: Apply) -> list[TensorNode]:
    """Return the new nodes of a replacement, inner ones last; they come from the line of the node that is replaced."""
    fresh: list[TensorNode] = []
    seen: set[TensorNode] = set()
    stack = [replacement]
    while stack:
        new = stack.pop().owner
        if new is None or new in seen or new in fgraph:
            continue
        seen.add(new)
        new.user_line = node.user_line
        fresh.append(new)
        stack.extend(new.inputs)
    return fresh
