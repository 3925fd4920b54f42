"""Stable logarithms behind what only rearranges or picks elements: transposes, reshapes, indices, diagonals, copies."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.arrangement.diagonals import ExtractDiag
from treadle.tensor.elementwise.arithmetic import add, mul, neg, sub, true_div
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.exponential import exp, expm1, log, log1p, sigmoid
from treadle.tensor.elementwise.rules.exponential import STABLE
from treadle.tensor.indexing.indexing import AdvancedSubtensor, Subtensor
from treadle.tensor.reductions.normalization import LogSoftmax, LogSumExp, Softmax
from treadle.tensor.reductions.reduction import Reduction
from treadle.tensor.reductions.rules.softmax import sum_of_exponentials
from treadle.tensor.rewrites.analysis.patterns import EVERY_MODE
from treadle.tensor.rewrites.analysis.predicates import applies, argument_of, kind_of, made_by
from treadle.tensor.rewrites.analysis.replacements import cast_like
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, same_shape, shapes_of
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle, dimshuffle
from treadle.tensor.shapes.shape import Reshape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

RULES = RuleSet("rearranged", features=(SymbolicShapes,))

_VIEWS = (DimShuffle, Reshape, Subtensor, AdvancedSubtensor, ExtractDiag, Alloc)
# Lists, not traits: what the laws of stable logarithms are about, and what they find it in.
_EXPONENTIALS = (exp, expm1, sigmoid)
_ARITHMETIC = (add, sub, neg, mul, true_div)
_DEEPEST = 3


def _below_views(x: TensorVariable) -> tuple[TensorVariable, list[TensorNode]]:
    """Return what a tensor is rearranged or picked from, and the nodes that do it, the lowest first."""
    views: list[TensorNode] = []
    while (node := made_by(x, *_VIEWS)) is not None:
        views.insert(0, node)
        x = node.inputs[0]
    return x, views


def _through(views: Sequence[TensorNode], x: TensorVariable) -> TensorVariable:
    """Apply views to another tensor of the shape of what they were applied to."""
    return reduce(lambda value, view: view.op(value, *view.inputs[1:]), views, x)


@RULES.rule(Phase.STABILIZE, log, tags=EVERY_MODE, depth=6, after=("log_of_sum_of_exp",), differs=STABLE)
def log_of_rearranged(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """log(view(softmax(x))) -> view(log_softmax(x)), log(view(sum(exp(x)))) -> view(logsumexp(x))."""
    inner, views = _below_views(node.inputs[0])
    softmax = made_by(inner, Softmax) if views else None
    if softmax is not None:
        return cast_like(node.outputs[0], _through(views, LogSoftmax(softmax.op.axes)(softmax.inputs[0])))
    total = sum_of_exponentials(inner.owner) if views else None
    total = _sum_of_rearranged(inner) if total is None else total
    return None if total is None else cast_like(node.outputs[0], _through(views, LogSumExp(total[1])(total[0])))


def _sum_of_rearranged(total: TensorVariable) -> tuple[TensorVariable, tuple[int, ...]] | None:
    """Return view(x) and the axes, if a tensor is the sum of view(exp(x)) over axes, all in one float dtype."""
    node = made_by(total, Reduction)
    if node is None or node.op.kind != "sum":
        return None
    inner, views = _below_views(node.inputs[0])
    x = argument_of(exp, inner) if views else None
    if x is None or kind_of(x) != "f" or not x.dtype == inner.dtype == node.op.dtype:
        return None
    return _through(views, x), node.op.axes


@RULES.rule(
    Phase.STABILIZE, log, log1p, tags=EVERY_MODE, depth=6, needs_graph=True, after=("log_of_rearranged",),
    differs=STABLE,
)  # fmt: skip
def log_of_rearranged_exponential(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """log(view(f(x))) -> log(f(view(x))), where f is made of exponentials: the laws of stable forms see them."""
    x = node.inputs[0]
    lowered = _lowered(x, shapes_of(fgraph))
    return None if lowered is x else cast_like(node.outputs[0], node.op(lowered))


def _lowered(x: TensorVariable, shapes: SymbolicShapes, depth: int = _DEEPEST) -> TensorVariable:
    """Return a tensor in which exponentials, and arithmetic with them, stand above views; itself if that is so."""
    inner, views = _below_views(x)
    node = made_by(inner, Elemwise)
    if node is None or len(node.outputs) != 1 or depth == 0:
        return x
    if views:
        if not _has_exponential(inner, _DEEPEST):
            return x
        operands = [_seen(views, operand, inner, shapes, x.ndim) for operand in node.inputs]
        if None in operands:
            return x
    elif not applies(node, *_ARITHMETIC):
        return x
    else:
        operands = list(node.inputs)
    lowered = [_lowered(operand, shapes, depth - 1) for operand in operands if operand is not None]
    if not views and all(new is old for new, old in zip(lowered, node.inputs, strict=True)):
        return x
    result: TensorVariable = node.op(*lowered)
    return result if x.type.is_super(result.type) else x


def _has_exponential(x: TensorVariable, depth: int) -> bool:
    """Whether a tensor is an exponential, or arithmetic with one, behind views or not."""
    node = made_by(_below_views(x)[0], Elemwise)
    if node is None or depth == 0:
        return False
    return applies(node, *_EXPONENTIALS) or (
        applies(node, *_ARITHMETIC) and any(_has_exponential(y, depth - 1) for y in node.inputs)
    )


def _seen(
    views: Sequence[TensorNode], operand: TensorVariable, whole: TensorVariable, shapes: SymbolicShapes, ndim: int
) -> TensorVariable | None:
    """Return what views show of an operand of an elementwise function, where it is a number or as long as the whole."""
    if all(n == 1 for n in operand.type.shape):
        return dimshuffle(operand, *[NEW] * ndim)
    return _through(views, operand) if same_shape(shapes, operand, whole) else None
