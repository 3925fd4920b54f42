"""Rules for broadcasting, and for summing back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.cast import second
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.reductions.reduction import summed_along
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import applies, made_by
from treadle.tensor.rewrites.analysis.replacements import alloc_like, as_scalar, broadcast_shape, if_fits
from treadle.tensor.shape_inference.symbolic_shapes import ONE, SymbolicShapes, shapes_of
from treadle.tensor.shapes.broadcasting import Alloc, SumTo
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle, dimshuffle
from treadle.tensor.shapes.shape import lengths

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

RULES = RuleSet("broadcasting", features=(SymbolicShapes,))


@RULES.rule(EARLY_AND_LATE, Alloc, tags=(*BOTH, "local_useless_alloc", "useless"), needs_graph=True)
def useless_alloc(fgraph: FunctionGraph, node: NodeOf[Alloc]) -> TensorVariable | None:
    """alloc(x, shape of x) -> x."""
    x, out = node.inputs[0], node.outputs[0]
    shapes = shapes_of(fgraph)
    if x.ndim != len(node.inputs) - 1 or shapes.of(x) != shapes.of(out):
        return None
    return x if out.type.is_super(x.type) else None


@RULES.rule(EARLY_AND_LATE, Alloc, tags=(*BOTH, "local_merge_alloc"), needs_graph=True, below=(Alloc,))
def alloc_of_alloc(fgraph: FunctionGraph, node: NodeOf[Alloc]) -> TensorVariable | None:
    """alloc(alloc(x, a), b) -> alloc(x, b), where each length of a is 1 or b's for certain."""
    inner = made_by(node.inputs[0], Alloc)
    if inner is None:
        return None
    shapes = shapes_of(fgraph)
    own, whole = shapes.of(inner.outputs[0]), shapes.of(node.outputs[0])
    if any(n not in {ONE, m} for n, m in zip(own, whole[len(whole) - len(own) :], strict=True)):
        return None
    return if_fits(node, Alloc()(inner.inputs[0], *node.inputs[1:]))


@RULES.rule(
    EARLY_AND_LATE, Alloc, tags=(*BOTH, "local_alloc_dimshuffle", "local_alloc_sink_dimshuffle"), below=(DimShuffle,)
)
def alloc_of_dimshuffle(node: NodeOf[Alloc]) -> TensorVariable | None:
    """alloc(dimshuffle(x, 'x', 0), lengths) -> alloc(x, lengths): dimensions in front come by themselves."""
    inner = made_by(node.inputs[0], DimShuffle)
    if inner is None:
        return None
    op = inner.op
    order = list(op.order)
    while order and order[0] == NEW:
        del order[0]
    if len(order) == len(inner.op.order):
        return None
    return if_fits(node, Alloc()(dimshuffle(inner.inputs[0], *order), *node.inputs[1:]))


@RULES.rule(
    Phase.CANONICALIZE,
    second,
    tags=(*BOTH, "local_second_to_alloc", "local_useless_fill", "local_second_sink", "shape_unsafe"),
    needs_graph=True,
)
def second_to_alloc(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """second(x, y) -> y, or alloc(y, shape of x): x itself is not needed."""
    x, y = node.inputs
    out = node.outputs[0]
    shapes = shapes_of(fgraph)
    if shapes.of(y) == shapes.of(out):
        return y if out.type.is_super(y.type) else None
    if any(n != 1 for n in y.type.shape):
        return None
    value = as_scalar(y)
    spread = alloc_like(fgraph, node, value)
    return if_fits(node, Alloc()(value, *lengths(x))) if spread is None else spread


def _unspread(x: TensorVariable) -> TensorVariable | None:
    """Return the value that a variable holds broadcast, or None."""
    node = x.owner
    if node is None:
        return None
    if isinstance(node.op, Alloc):
        return node.inputs[0]
    return node.inputs[1] if applies(node, second) else None


@RULES.rule(
    EARLY_AND_LATE,
    Elemwise,
    tags=(*BOTH, "local_elemwise_alloc", "local_alloc_unary"),
    needs_graph=True,
    below=(Alloc, second),
)
def operand_broadcast_in_vain(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """f(alloc(x, shape), y) -> f(x, y), where the shape is the same for certain; alloc(f(x, y), shape) for numbers."""
    values = [_unspread(x) for x in node.inputs]
    if all(v is None for v in values):
        return None
    shapes = shapes_of(fgraph)
    target = shapes.of(node.outputs[0])
    inputs: list[TensorVariable] = list(node.inputs)
    for i, value in enumerate(values):
        if value is None:
            continue
        trial = [*inputs[:i], value, *inputs[i + 1 :]]
        if broadcast_shape(shapes, *trial) == target:
            inputs = trial
    if all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
        return _spread_late(fgraph, node)
    return if_fits(node, node.op(*inputs))


def _spread_late(fgraph: FunctionGraph, node: TensorNode) -> TensorVariable | None:
    """Return alloc(f(x, y), lengths) for f(alloc(x, lengths), y) where y has length 1 in every dimension."""
    allocated = [made_by(x, Alloc) for x in node.inputs]
    if len(node.outputs) != 1 or any(
        inner is None and any(n != 1 for n in x.type.shape) for inner, x in zip(allocated, node.inputs, strict=True)
    ):
        return None
    values = [x if a is None else a.inputs[0] for a, x in zip(allocated, node.inputs, strict=True)]
    if any(n != 1 for x in values for n in x.type.shape):
        return None
    return alloc_like(fgraph, node, node.op(*map(as_scalar, values)))


@RULES.rule(EARLY_AND_LATE, SumTo, tags=(*BOTH, "ShapeOpt"), needs_graph=True)
def sum_to_known_shape(fgraph: FunctionGraph, node: NodeOf[SumTo]) -> TensorVariable | None:
    """sum_to(x, shape) -> x or sum(x, axes), where it is known for each dimension whether it is summed."""
    x = node.inputs[0]
    out = node.outputs[0]
    shapes = shapes_of(fgraph)
    own, wanted = shapes.of(x), shapes.of(out)
    extra = len(own) - len(wanted)
    axes = list(range(extra))
    for d, (n, m) in enumerate(zip(own[extra:], wanted, strict=True)):
        if n == m or (out.type.shape[d] not in {1, None}):
            continue
        if m != ONE:
            return None
        axes.append(d + extra)
    total = summed_along(x, axes, extra)
    return total if out.type.is_super(total.type) else None
