"""Stable forms of softmax and log_softmax, and of the gradients of the logarithm of softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import add, mul, sub, true_div
from treadle.tensor.elementwise.exponential import exp, log
from treadle.tensor.elementwise.rules.algebra import PRODUCT_SIGNS
from treadle.tensor.elementwise.rules.exponential import STABLE
from treadle.tensor.elementwise.rules.logistic import MOST_FACTORS, Operand, operands_of, product_of
from treadle.tensor.indexing.indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor
from treadle.tensor.reductions.normalization import LogSoftmax, LogSumExp, Softmax
from treadle.tensor.reductions.reduction import Reduction
from treadle.tensor.rewrites.analysis.patterns import EVERY_MODE
from treadle.tensor.rewrites.analysis.predicates import (
    applies,
    argument_of,
    constant_value,
    function_of,
    is_image_positive,
    kind_of,
    made_by,
)
from treadle.tensor.rewrites.analysis.replacements import alloc_like, cast_like
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import FunctionGraph, Variable
    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

RULES = RuleSet("normalization", features=(SymbolicShapes,))


# Recognising sums of exponentials


def sum_of_exponentials(node: TensorNode | None) -> tuple[TensorVariable, tuple[int, ...]] | None:
    """Return x and the axes, if a node is the sum of exp(x) over axes, all in one float dtype."""
    if node is None or not isinstance(node.op, Reduction) or node.op.kind != "sum":
        return None
    x = argument_of(exp, node.inputs[0])
    if x is None or kind_of(x) != "f" or x.dtype != node.op.dtype or x.dtype != node.inputs[0].dtype:
        return None
    return x, node.op.axes


def expansion_of(node: TensorNode | None, ndim: int) -> tuple[TensorNode, tuple[int, ...]] | None:
    """Return the node below a dimshuffle that only adds dimensions up to a rank, and the dimensions added."""
    if node is None or not isinstance(node.op, DimShuffle) or len(node.op.order) != ndim or node.op.dropped:
        return None
    kept = [d for d in node.op.order if d != NEW]
    inner = node.inputs[0].owner
    if inner is None or kept != sorted(kept, key=int):
        return None
    return inner, tuple(d for d, o in enumerate(node.op.order) if o == NEW)


# Softmax


@RULES.rule(Phase.STABILIZE, true_div, tags=(*EVERY_MODE, "symbolic_op_recognition"), depth=4, differs=STABLE)
def exp_over_sum_of_exp(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """exp(x) / sum(exp(x), axes, keepdims) -> softmax(x, axes)."""
    above, below = node.inputs
    x = argument_of(exp, above)
    if x is None:
        return None
    expansion = expansion_of(below.owner, x.ndim)
    summed = sum_of_exponentials(expansion[0]) if expansion is not None else None
    if expansion is None or summed is None or summed[0] is not x or summed[1] != expansion[1]:
        return None
    return cast_like(node.outputs[0], Softmax(summed[1])(x))


@RULES.rule(Phase.STABILIZE, log, tags=EVERY_MODE, differs=STABLE, below=(Softmax,))
def log_of_softmax(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """log(softmax(x)) -> log_softmax(x)."""
    inner = made_by(node.inputs[0], Softmax)
    return None if inner is None else LogSoftmax(inner.op.axes)(inner.inputs[0])


@RULES.rule(Phase.STABILIZE, exp, tags=EVERY_MODE, differs=STABLE, below=(LogSoftmax,))
def exp_of_log_softmax(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """exp(log_softmax(x)) -> softmax(x)."""
    inner = made_by(node.inputs[0], LogSoftmax)
    return None if inner is None else Softmax(inner.op.axes)(inner.inputs[0])


@RULES.rule(Phase.STABILIZE, sub, tags=EVERY_MODE, depth=3, differs=STABLE, needs=(LogSumExp,))
def argument_minus_logsumexp(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(x - logsumexp(x, axes, keepdims)) -> log_softmax(x, axes)."""
    x = node.inputs[0]
    expansion = expansion_of(node.inputs[1].owner, x.type.ndim)
    if expansion is None or not isinstance(expansion[0].op, LogSumExp):
        return None
    inner, axes = expansion
    if inner.inputs[0] is not x or getattr(inner.op, "axes", ()) != axes:
        return None
    return cast_like(node.outputs[0], LogSoftmax(axes)(x))


@RULES.rule(Phase.UNCANONICALIZE, Softmax, LogSoftmax, LogSumExp, tags=("normalization_by_rows",), is_opt_in=True)
def normalization_by_rows(node: NodeOf[Softmax | LogSoftmax | LogSumExp]) -> Sequence[Variable] | None:
    """softmax(x, axes) -> exp(x - max(x)) over its sum, and so for its logarithm and logsumexp; the last axis is kept.

    Then all steps run through rows, on vectors. Backends ask for it that write no loops for elements that lie apart.
    """
    x = node.inputs[0]
    return None if x.type.ndim - 1 in node.op.axes else node.op.decompose(x)


# Gradients of logarithms of softmax: what was divided by the softmax is multiplied by it again.


def _without(operands: list[Operand], var: TensorVariable, parity: int) -> TensorVariable | None:
    """Return a product without one division by a variable, or None if it has none."""
    for i, o in enumerate(operands):
        if o.sign < 0 and o.var is var:
            return product_of([*operands[:i], *operands[i + 1 :]], parity, var.dtype)
    return None


def _is_zeros(var: TensorVariable) -> bool:
    """Whether a tensor is zeros, broadcast or not."""
    node = made_by(var, Alloc)
    return bool(constant_value(var if node is None else node.inputs[0]) == 0)


def _scattered(var: TensorVariable, s: TensorVariable) -> TensorVariable | None:
    """Return zeros with values put in, times s, where the values are divided by the same part of s; else None."""
    node = var.owner
    if node is None or not isinstance(node.op, IncSubtensor | AdvancedIncSubtensor) or not _is_zeros(node.inputs[0]):
        return None
    take = (Subtensor if isinstance(node.op, IncSubtensor) else AdvancedSubtensor)(node.op.entries)
    values = node.inputs[1]
    operands, parity = operands_of(values, PRODUCT_SIGNS, MOST_FACTORS)
    for o in operands:
        part = o.var.owner
        if o.sign < 0 and part is not None and part.op == take and part.inputs[0] is s:
            if any(a is not b for a, b in zip(part.inputs[1:], node.inputs[2:], strict=True)):
                continue
            return node.op(node.inputs[0], _without(operands, o.var, parity), *node.inputs[2:])
    return None


def _times(var: TensorVariable, s: TensorVariable) -> TensorVariable | None:
    """Return a tensor times s in a form without division by s; None if it does not divide by s."""
    operands, parity = operands_of(var, PRODUCT_SIGNS, MOST_FACTORS)
    plain = _without(operands, s, parity)
    if plain is not None:
        return plain
    for i, o in enumerate(operands):
        scattered = _scattered(o.var, s) if o.sign > 0 else None
        if scattered is not None:
            return product_of([*operands[:i], Operand(scattered, 1), *operands[i + 1 :]], parity, s.dtype)
    return None


def _softmax_and_other(node: TensorNode) -> list[tuple[TensorVariable, TensorVariable]]:
    a, b = node.inputs
    return [(s, other) for s, other in ((a, b), (b, a)) if made_by(s, Softmax) is not None]


def _is_positive(var: TensorVariable) -> bool:
    """Whether a tensor is computed by a function that is never 0, so that a quotient by it may be cancelled."""
    function = function_of(var.owner)
    return function is not None and kind_of(var) == "f" and is_image_positive(function)


@RULES.rule(Phase.STABILIZE, mul, tags=EVERY_MODE, depth=5, differs=STABLE, needs=(IncSubtensor, AdvancedIncSubtensor))
def exponential_times_scattered_quotient(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """exp(x) * (c / exp(x)[i] put into zeros at i) -> c put into zeros at i, anywhere in a product; so for sigmoid."""
    operands, parity = operands_of(node.outputs[0], PRODUCT_SIGNS, MOST_FACTORS)
    above = [o for o in operands if o.sign > 0]
    for s in (o for o in above if _is_positive(o.var)):
        for other in above:
            scattered = _scattered(other.var, s.var)
            if scattered is not None:
                rest = [o for o in operands if o is not s and o is not other]
                value = product_of([*rest, Operand(scattered, 1)], parity, node.outputs[0].dtype)
                return None if value is None else cast_like(node.outputs[0], value)
    return None


@RULES.rule(Phase.STABILIZE, true_div, tags=EVERY_MODE, needs_graph=True, depth=2, differs=STABLE, below=(Softmax,))
def softmax_over_itself(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """softmax(x) / softmax(x) -> 1: what the gradient of a sum of logarithms of it leaves."""
    above, below = node.inputs
    if above is not below or made_by(above, Softmax) is None:
        return None
    return alloc_like(fgraph, node, constant(1, dtype=node.outputs[0].dtype))


@RULES.rule(
    Phase.STABILIZE, mul, tags=(*EVERY_MODE, "symbolic_op_recognition"), depth=5, differs=STABLE, below=(Softmax,)
)
def softmax_times_quotient(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """softmax(x) * (c / softmax(x)) -> c, and so where c / softmax(x)[i] is put into zeros at i."""
    for s, other in _softmax_and_other(node):
        product = _times(other, s)
        if product is not None:
            return cast_like(node.outputs[0], product)
    return None


@RULES.rule(
    Phase.STABILIZE, mul, tags=(*EVERY_MODE, "symbolic_op_recognition"), depth=5, differs=STABLE, below=(Softmax,)
)
def softmax_times_difference(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """softmax(x) * (c / softmax(x) - d) -> c - softmax(x) * d: the gradient of the logarithm of softmax."""
    for s, other in _softmax_and_other(node):
        inner = other.owner
        if not applies(inner, sub, add):
            continue
        first, second = inner.inputs
        products = [_times(v, s) for v in (first, second)]
        if products == [None, None]:
            continue
        a, b = (mul(v, s) if m is None else m for v, m in zip((first, second), products, strict=True))
        return cast_like(node.outputs[0], inner.op(a, b))
    return None
