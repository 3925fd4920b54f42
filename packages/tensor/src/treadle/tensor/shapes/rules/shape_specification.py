"""Rules for lengths that are said, and for ops that are reshapes or slices under another name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import RuleSet
from treadle.tensor.arrangement.diagonals import AllocDiag
from treadle.tensor.arrangement.joined_axes import JoinDims, SplitDims
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.indexing.indexing import AdvancedIncSubtensor, IncSubtensor
from treadle.tensor.joins.splitting import Split
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import is_used_once, made_by
from treadle.tensor.rewrites.analysis.replacements import if_fits
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, shapes_of
from treadle.tensor.shapes.shape_specification import SpecifyShape

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("shape_specification", features=(SymbolicShapes,))


@RULES.rule(
    EARLY_AND_LATE,
    SpecifyShape,
    tags=(*BOTH, "local_useless_specify_shape", "local_specify_shape_alloc", "useless"),
    needs_graph=True,
)
def useless_specification(fgraph: FunctionGraph, node: NodeOf[SpecifyShape]) -> TensorVariable | None:
    """specify_shape(x, lengths that x is known to have) -> x."""
    x, *wanted = node.inputs
    if not node.outputs[0].type.is_super(x.type):
        return None
    shapes = shapes_of(fgraph)
    own = shapes.of(x)
    known = all(own[d] == shapes.of_scalar(n) for d, n in zip(node.op.axes, wanted, strict=True))
    return x if known else None


@RULES.rule(
    EARLY_AND_LATE,
    SpecifyShape,
    tags=(*BOTH, "local_merge_consecutive_specify_shape", "useless"),
    below=(SpecifyShape,),
)
def specification_of_specification(node: NodeOf[SpecifyShape]) -> TensorVariable | None:
    """specify_shape(specify_shape(x, 1st length), 2nd length) -> specify_shape(x, both)."""
    inner = made_by(node.inputs[0], SpecifyShape)
    if inner is None:
        return None
    first = dict(zip(inner.op.axes, inner.inputs[1:], strict=True))
    second = dict(zip(node.op.axes, node.inputs[1:], strict=True))
    if any(first[d] is not second[d] for d in first.keys() & second.keys()):
        return None
    both = first | second
    axes = tuple(sorted(both))
    return if_fits(node, SpecifyShape(axes)(inner.inputs[0], *(both[d] for d in axes)))


@RULES.rule(EARLY_AND_LATE, SpecifyShape, tags=(*BOTH, "local_lift_specify_shape_elemwise"), needs_graph=True)
def specification_of_elementwise(fgraph: FunctionGraph, node: NodeOf[SpecifyShape]) -> TensorVariable | None:
    """specify_shape(f(x), lengths) -> f(specify_shape(x, lengths)), where all other operands have one element."""
    out = node.inputs[0]
    inner = made_by(out, Elemwise)
    if inner is None or len(inner.outputs) != 1 or not is_used_once(fgraph, out):
        return None
    wide = [at for at, x in enumerate(inner.inputs) if any(n != 1 for n in x.type.shape)]
    if len(wide) != 1:
        return None
    operands = list(inner.inputs)
    operands[wide[0]] = node.op(operands[wide[0]], *node.inputs[1:])
    return if_fits(node, inner.op(*operands))


@RULES.rule(EARLY_AND_LATE, SpecifyShape, tags=(*BOTH, "local_lift_specify_shape_inc_subtensor"), needs_graph=True)
def specification_of_write(fgraph: FunctionGraph, node: NodeOf[SpecifyShape]) -> TensorVariable | None:
    """specify_shape(set_subtensor(x[i], y), lengths) -> set_subtensor(specify_shape(x, lengths)[i], y)."""
    out = node.inputs[0]
    inner = out.owner
    if inner is None or not isinstance(inner.op, IncSubtensor | AdvancedIncSubtensor) or not is_used_once(fgraph, out):
        return None
    x, *rest = inner.inputs
    return if_fits(node, inner.op(node.op(x, *node.inputs[1:]), *rest))


@RULES.rule(EARLY_AND_LATE, SpecifyShape, AllocDiag, tags=(*BOTH, "ShapeOpt"), depth=1)
def said_lengths_become_known(node: NodeOf[SpecifyShape | AllocDiag]) -> TensorVariable | None:
    """specify_shape(x, n), n constant -> the same with its length in the type."""
    rebuilt = node.op(*node.inputs)
    return None if rebuilt.type == node.outputs[0].type else if_fits(node, rebuilt)


@RULES.rule(EARLY_AND_LATE, JoinDims, SplitDims, tags=(*BOTH, "local_join_dims", "local_split_dims"), depth=1)
def joined_or_split_dimensions(node: NodeOf[JoinDims | SplitDims]) -> TensorVariable | None:
    """join_dims(x) -> reshape(x); split_dims(x, lengths) -> reshape(x, lengths): other rules know reshapes."""
    (reshaped,) = node.op.decompose(*node.inputs)
    return if_fits(node, reshaped)  # type: ignore[arg-type]  # it makes tensors


@RULES.rule(EARLY_AND_LATE, Split, tags=(*BOTH, "local_useless_split", "useless"))
def split_into_slices(node: NodeOf[Split]) -> list[TensorVariable] | None:
    """split(x, [n, m]) -> x[:n], x[n:], each of the length that is said: other rules know slices."""
    parts = node.op.decompose(*node.inputs)
    fit = all(out.type.is_super(part.type) for out, part in zip(node.outputs, parts, strict=True))
    return list(parts) if fit else None  # type: ignore[arg-type]  # it makes tensors
