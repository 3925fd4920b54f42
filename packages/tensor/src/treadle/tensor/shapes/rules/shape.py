"""Rules for shapes and reshapes: a shape is computed from the shapes of inputs, not from computed values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Constant
from treadle.rewrite import RuleSet
from treadle.tensor.elementwise.arithmetic import maximum
from treadle.tensor.joins.joining import Join
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import filling, made_by
from treadle.tensor.rewrites.analysis.replacements import alloc_like, if_fits
from treadle.tensor.shape_inference.symbolic_shapes import ONE, SymbolicShapes, shapes_of
from treadle.tensor.shapes.broadcasting import Alloc, SumTo
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle, dimshuffle
from treadle.tensor.shapes.rules.dimshuffle import keeps_order
from treadle.tensor.shapes.shape import LENGTH, Reshape, Shape, ShapeI
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.shape_inference.symbolic_shapes import Length
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("shape", features=(SymbolicShapes,))


@RULES.rule(EARLY_AND_LATE, ShapeI, tags=(*BOTH, "ShapeOpt", "local_track_shape_i"), needs_graph=True)
def length_from_inputs(fgraph: FunctionGraph, node: NodeOf[ShapeI]) -> TensorVariable | None:
    """Length of dimension d of f(x) -> the same from the lengths of x."""
    x = node.inputs[0]
    axis = node.op.axis
    known = x.type.shape[axis]
    if known is not None:
        return constant(known, dtype=LENGTH)
    if x.owner is None:
        return None
    shapes = shapes_of(fgraph)
    length = shapes.of(x)[axis]
    scalar = shapes.variable(length, fgraph, avoid=x)
    return scalar if scalar is None else _not_negative(shapes, length, scalar)


def _not_negative(shapes: SymbolicShapes, length: Length, value: TensorVariable) -> TensorVariable:
    """Return the value of a length; 0 where it is negative, of a tensor that cannot be made."""
    return value if shapes.is_natural(length) else maximum(value, 0)


@RULES.rule(EARLY_AND_LATE, Shape, tags=(*BOTH, "ShapeOpt", "local_shape_to_shape_i"), needs_graph=True)
def shape_from_inputs(fgraph: FunctionGraph, node: NodeOf[Shape]) -> TensorVariable | None:
    """Shape of f(x) -> the same from the lengths of x."""
    x = node.inputs[0]
    if None not in x.type.shape:
        return constant([n for n in x.type.shape if n is not None], dtype=LENGTH)
    if x.owner is None:
        return None
    shapes = shapes_of(fgraph)
    known = shapes.of(x)
    lengths = shapes.variables(known, fgraph, avoid=x)
    if lengths is None:
        return None
    values = [_not_negative(shapes, *pair) for pair in zip(known, lengths, strict=True)]
    return Join(0)(*(n.dimshuffle("x") for n in values))


# Reshape


@RULES.rule(EARLY_AND_LATE, Reshape, tags=(*BOTH, "local_reshape_chain", "shape_unsafe"), below=(Reshape,))
def reshape_of_reshape(node: NodeOf[Reshape]) -> TensorVariable | None:
    """reshape(reshape(x, a), b) -> reshape(x, b)."""
    inner = made_by(node.inputs[0], Reshape)
    return None if inner is None else if_fits(node, node.op(inner.inputs[0], *node.inputs[1:]))


@RULES.rule(EARLY_AND_LATE, Reshape, tags=(*BOTH, "local_useless_reshape", "useless", "shape_unsafe"), needs_graph=True)
def useless_reshape(fgraph: FunctionGraph, node: NodeOf[Reshape]) -> TensorVariable | None:
    """reshape(x, shape of x) -> x; a vector stays as it is in any case."""
    x = node.inputs[0]
    out = node.outputs[0]
    if x.ndim != out.ndim or not out.type.is_super(x.type):
        return None
    if x.ndim == 1:
        return node.inputs[0]
    shapes = shapes_of(fgraph)
    return node.inputs[0] if shapes.of(x) == shapes.of(out) else None


@RULES.rule(
    EARLY_AND_LATE,
    Reshape,
    tags=(*BOTH, "local_reshape_to_dimshuffle", "shape_unsafe"),
    needs_graph=True,
    after=["useless_reshape", "reshape_of_reshape"],
)
def reshape_to_dimshuffle(fgraph: FunctionGraph, node: NodeOf[Reshape]) -> TensorVariable | None:
    """reshape(x, its lengths with and without ones) -> dimshuffle(x)."""
    x = node.inputs[0]
    shapes = shapes_of(fgraph)
    own, wanted = shapes.of(x), shapes.of(node.outputs[0])
    if _long(own) != _long(wanted):
        return None
    kept = iter([d for d, n in enumerate(own) if n != ONE])
    return if_fits(node, dimshuffle(x, *(NEW if n == ONE else next(kept) for n in wanted)))


def _long(lengths: Sequence[Length]) -> list[Length]:
    """Return the lengths that are not known to be 1."""
    return [n for n in lengths if n != ONE]


@RULES.rule(
    EARLY_AND_LATE,
    Reshape,
    tags=(*BOTH, "local_useless_expand_dims_in_reshape", "local_reshape_dimshuffle"),
    below=(DimShuffle,),
)
def reshape_of_dimshuffle(node: NodeOf[Reshape]) -> TensorVariable | None:
    """reshape(dimshuffle(x), lengths) -> reshape(x, lengths), where no two dimensions change places."""
    inner = made_by(node.inputs[0], DimShuffle)
    if inner is None or not keeps_order(inner.op.order):
        return None
    return if_fits(node, node.op(inner.inputs[0], *node.inputs[1:]))


@RULES.rule(EARLY_AND_LATE, Reshape, tags=(*BOTH, "local_useless_reshape"), needs_graph=True, below=(Alloc,))
def reshape_of_alloc(fgraph: FunctionGraph, node: NodeOf[Reshape]) -> TensorVariable | None:
    """reshape(alloc(number, a), b) -> alloc(number, b), where both certainly have as many elements."""
    inner = made_by(node.inputs[0], Alloc)
    value = None if inner is None else filling(node.inputs[0])
    if inner is None or value is None:
        return None
    shapes = shapes_of(fgraph)
    if not all(isinstance(n, Constant) or shapes.is_natural(shapes.of_scalar(n)) for n in node.inputs[1:]):
        return None  # what a length of -1 stands for may be an error
    if shapes.multiplied(shapes.of(node.inputs[0])) != shapes.multiplied(shapes.of(node.outputs[0])):
        return None
    return alloc_like(fgraph, node, value)


@RULES.rule(EARLY_AND_LATE, Reshape, Alloc, SumTo, tags=(*BOTH, "ShapeOpt"), depth=1)
def lengths_become_known(node: NodeOf[Reshape | Alloc | SumTo]) -> TensorVariable | None:
    """reshape(x, n), n constant -> the same with its length in the type."""
    out = node.outputs[0].type
    known = [n is None and isinstance(m, Constant) for n, m in zip(out.shape, node.inputs[1:], strict=True)]
    if not any(known):
        return None
    rebuilt = node.op(*node.inputs)
    return None if rebuilt.type == out else if_fits(node, rebuilt)
