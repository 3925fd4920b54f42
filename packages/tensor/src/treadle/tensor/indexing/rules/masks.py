"""Rules for boolean masks: what depends on the elements that a mask picks, computed without picking them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import add
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.indexing.indexing import AdvancedIncSubtensor, AdvancedSubtensor
from treadle.tensor.indexing.masked_writes import mask_in
from treadle.tensor.indexing.nonzero import CheckMask, Nonzero
from treadle.tensor.reductions.reduction import Reduction, sum_
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import is_used_once, made_by
from treadle.tensor.rewrites.analysis.replacements import if_fits
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, same_shape, shapes_of
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle
from treadle.tensor.shapes.shape import LENGTH, ShapeI

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("masks", features=(SymbolicShapes,))
_NEUTRAL = {"sum": 0, "prod": 1, "all": True, "any": False}


@RULES.rule(EARLY_AND_LATE, CheckMask, tags=BOTH, needs_graph=True)
def check_of_fitting_mask(fgraph: FunctionGraph, node: NodeOf[CheckMask]) -> TensorVariable | None:
    """check(mask, lengths) -> mask, where its last lengths are certain to be these."""
    mask, *wanted = node.inputs
    shapes = shapes_of(fgraph)
    own = shapes.of(mask)[mask.ndim - len(wanted) :]
    return mask if own == tuple(map(shapes.of_scalar, wanted)) else None


@RULES.rule(Phase.SPECIALIZE, ShapeI, tags=BOTH, below=(Nonzero,))
def length_of_nonzero(node: NodeOf[ShapeI]) -> TensorVariable | None:
    """Length of nonzero(mask) -> sum(mask)."""
    inner = made_by(node.inputs[0], Nonzero)
    return None if inner is None else sum_(inner.inputs[0], dtype=LENGTH)


@RULES.rule(EARLY_AND_LATE, Reduction, tags=BOTH, needs_graph=True, below=(AdvancedSubtensor,))
def reduction_of_masked(fgraph: FunctionGraph, node: NodeOf[Reduction]) -> TensorVariable | None:
    """sum(x[mask]) -> sum(switch(mask, x, 0)); prod, all and any with what changes nothing."""
    op = node.op
    inner = made_by(node.inputs[0], AdvancedSubtensor)
    if inner is None or op.kind not in _NEUTRAL or not is_used_once(fgraph, node.inputs[0]):
        return None
    x, *parts = inner.inputs
    masked = mask_in(inner.op.entries, parts)
    if masked is None or masked[1] not in op.axes:
        return None
    mask, first = masked
    chosen = dimshuffle(mask, *range(mask.ndim), *[NEW] * (x.ndim - first - mask.ndim))
    axes = [
        *(d for d in op.axes if d < first),
        *range(first, first + mask.ndim),
        *(d + mask.ndim - 1 for d in op.axes if d > first),
    ]
    neutral = np.asarray(_NEUTRAL[op.kind], x.dtype)
    return if_fits(node, replace(op, axes=tuple(axes))(switch(chosen, x, neutral)))


@RULES.rule(EARLY_AND_LATE, AdvancedIncSubtensor, tags=BOTH, needs_graph=True)
def write_of_masked(fgraph: FunctionGraph, node: NodeOf[AdvancedIncSubtensor]) -> TensorVariable | None:
    """set(x, y[mask], at mask) -> switch(mask, y, x); inc(x, y[mask], at mask) -> switch(mask, x + y, x)."""
    x, values, *parts = node.inputs
    inner = made_by(values, AdvancedSubtensor)
    masked = mask_in(node.op.entries, parts)
    if inner is None or masked is None or inner.op.entries != node.op.entries or list(inner.inputs[1:]) != parts:
        return None
    y = inner.inputs[0]
    if y.dtype != x.dtype or not same_shape(shapes_of(fgraph), x, y):
        return None
    mask, first = masked
    chosen = dimshuffle(mask, *range(mask.ndim), *[NEW] * (x.ndim - first - mask.ndim))
    return if_fits(node, switch(chosen, y if node.op.set else add(x, y), x))
