"""Logarithms of sums of exponentials, and quotients by such sums.

A sum of exponentials overflows although its logarithm does not. So logarithms of sums, along axes or of a few terms,
become `logsumexp` and `logaddexp`; and a product of an exponential with the inverse of a sum, which gradients of these
logarithms and of written-out softmaxes consist of, becomes one exponential of a difference, or a softmax.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import add, mul, sub, true_div
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq
from treadle.tensor.elementwise.exponential import exp, log, log1mexp, logaddexp
from treadle.tensor.elementwise.rules.algebra import PRODUCT_SIGNS, SUM_SIGNS
from treadle.tensor.elementwise.rules.exponential import STABLE
from treadle.tensor.elementwise.rules.logistic import (
    MOST_FACTORS,
    Operand,
    Products,
    operands_of,
    product_of,
    products_of,
)
from treadle.tensor.reductions.normalization import LogSumExp, Softmax
from treadle.tensor.reductions.reduction import Reduction
from treadle.tensor.reductions.rules.softmax import expansion_of, sum_of_exponentials
from treadle.tensor.rewrites.analysis.patterns import EVERY_MODE
from treadle.tensor.rewrites.analysis.predicates import (
    applies,
    argument_of,
    constant_value,
    is_nonnegative,
    kind_of,
    made_by,
)
from treadle.tensor.rewrites.analysis.replacements import broadcast_like, cast_like
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph
    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("logarithm", features=(SymbolicShapes, Products))
# A sum of so many exponentials is still taken apart.
MOST_TERMS = 32


def _exponent_of(term: Operand, dtype: str) -> TensorVariable | None:
    """Return the logarithm of a term that is exp(x), c * exp(x) or c, for a constant c > 0, or None."""
    if term.sign < 0:
        return None
    value = constant_value(term.var)
    if value is not None:
        return log(constant(value, dtype=dtype)) if not isinstance(value, complex) and value > 0 else None
    x = _argument_of_exp(term.var, dtype)
    if x is not None or not applies(term.var.owner, mul):
        return x
    for c, e in (term.var.owner.inputs, term.var.owner.inputs[::-1]):
        value = constant_value(c)
        x = _argument_of_exp(e, dtype)
        if x is not None and value is not None and not isinstance(value, complex) and value > 0:
            return add(x, log(constant(value, dtype=dtype)))
    return None


def _argument_of_exp(var: TensorVariable, dtype: str) -> TensorVariable | None:
    """Return x if a variable is exp(x), dimensions of it rearranged or not, and x has a dtype; else None."""
    shuffle = made_by(var, DimShuffle)
    x = argument_of(exp, var if shuffle is None else shuffle.inputs[0])
    if x is None or x.dtype != dtype:
        return None
    return x if shuffle is None else shuffle.op(x)


def _log_of_sum(var: TensorVariable) -> TensorVariable | None:
    """Return the logarithm of a sum of two exponentials or more, or of one and constants; else None."""
    if not applies(var.owner, add):
        return None
    terms, _ = operands_of(var, SUM_SIGNS, MOST_TERMS)
    if all(constant_value(t.var) is not None for t in terms):
        return None
    exponents = [_exponent_of(term, var.dtype) for term in terms]
    return None if None in exponents else reduce(logaddexp, exponents)


@RULES.rule(Phase.STABILIZE, log, tags=(*EVERY_MODE, "symbolic_op_recognition"), depth=4, differs=STABLE)
def log_of_sum_of_exps(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """log(exp(x) + exp(y)) -> logaddexp(x, y), and so for more terms, multiples of exponentials, and constants."""
    out = node.outputs[0]
    inner = node.inputs[0]
    if kind_of(out) != "f" or inner.dtype != out.dtype:
        return None
    logarithm = _log_of_sum(inner)
    return None if logarithm is None else cast_like(out, logarithm)


@RULES.rule(Phase.STABILIZE, log, tags=EVERY_MODE, depth=3, differs=STABLE)
def log_of_difference_of_exps(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """log(exp(x) - exp(y)) -> x + log1mexp(y - x), and x where y is minus infinity."""
    out = node.outputs[0]
    inner = node.inputs[0].owner
    if not applies(inner, sub) or kind_of(out) != "f":
        return None
    x, y = (argument_of(exp, v) for v in inner.inputs)
    if x is None or y is None or x.dtype != out.dtype or y.dtype != out.dtype:
        return None
    least = constant(-np.inf, dtype=y.dtype)
    return cast_like(out, switch(eq(y, least), x, add(x, log1mexp(sub(y, x)))))


@RULES.rule(Phase.STABILIZE, log, tags=(*EVERY_MODE, "symbolic_op_recognition"), depth=4, differs=STABLE)
def log_of_sum_of_exp(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """log(sum(exp(x), axes)) -> logsumexp(x, axes), dimensions kept or not."""
    logarithm = _log_of_reduced(node.inputs[0])
    return None if logarithm is None else cast_like(node.outputs[0], logarithm)


def _log_of_reduced(var: TensorVariable) -> TensorVariable | None:
    """Return the logarithm of a sum of exp over axes, through a dimshuffle above it; else None."""
    shuffle = made_by(var, DimShuffle)
    summed = sum_of_exponentials((var if shuffle is None else shuffle.inputs[0]).owner)
    if summed is None:
        return None
    logarithm = LogSumExp(summed[1])(summed[0])
    return logarithm if shuffle is None else shuffle.op(logarithm)


@RULES.rule(Phase.STABILIZE, log, tags=(*EVERY_MODE, "symbolic_op_recognition"), depth=5, differs=STABLE)
def log_of_scaled_sum_of_exp(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """log(sum(exp(x), axes) / n) -> logsumexp(x, axes) - log(n), and log(sum(exp(x), axes) * y) -> … + log(y).

    The sum is positive, so that the logarithm of the other factor is defined where that of the product is.
    """
    inner = node.inputs[0].owner
    out = node.outputs[0]
    if not applies(inner, mul, true_div) or kind_of(out) != "f":
        return None
    for at, (total, other) in enumerate((inner.inputs, inner.inputs[::-1])):
        logarithm = _log_of_reduced(total)
        if logarithm is None:
            continue
        rest = log(other)
        if inner.op == mul:
            return cast_like(out, add(logarithm, rest))
        return cast_like(out, sub(logarithm, rest) if at == 0 else sub(rest, logarithm))
    return None


@RULES.rule(Phase.STABILIZE, log, depth=2, differs=STABLE, below=(Reduction,))
def log_of_prod(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """log(prod(x, axes)) -> sum(log(x), axes), where x is 0 or more for certain."""
    inner = made_by(node.inputs[0], Reduction)
    out = node.outputs[0]
    if inner is None or inner.op.kind != "prod" or kind_of(out) != "f":
        return None
    x = inner.inputs[0]
    if x.dtype != out.dtype or inner.op.dtype != out.dtype or not is_nonnegative(x):
        return None
    return cast_like(out, replace(inner.op, kind="sum")(log(x)))


# Quotients by sums


def _opened(operands: list[Operand], parity: int) -> tuple[list[Operand], int]:
    """Take quotients and signs out of dimshuffles, so that the sums of exponentials below them are found."""
    result = []
    for item in operands:
        node = item.var.owner
        if node is None or not isinstance(node.op, DimShuffle):
            result.append(item)
            continue
        inner, signs = operands_of(node.inputs[0], PRODUCT_SIGNS, MOST_FACTORS)
        droppable = all(getattr(o.var.type, "shape", ())[d] == 1 for o in inner for d in node.op.dropped)
        if not droppable or not any(_is_total(o.var) for o in inner):
            result.append(item)
            continue
        parity ^= signs
        result += [Operand(_shuffled(node.op, o.var), o.sign * item.sign) for o in inner]
    return result, parity


def _shuffled(op: DimShuffle, var: TensorVariable) -> TensorVariable:
    """Apply a dimshuffle to a tensor; to a tensor that is dimshuffled, as one."""
    inner = made_by(var, DimShuffle)
    if inner is None:
        return op(var)
    order = tuple(d if isinstance(d, str) else inner.op.order[d] for d in op.order)
    x = inner.inputs[0]
    return x if order == tuple(range(inner.op.ndim)) else DimShuffle(order, inner.op.ndim)(x)


def _is_total(var: TensorVariable) -> bool:
    """Whether a tensor is a sum of exponentials along axes, with dimensions added or not."""
    shuffle = made_by(var, DimShuffle)
    return sum_of_exponentials((var if shuffle is None else shuffle.inputs[0]).owner) is not None


@RULES.rule(Phase.STABILIZE, Reduction, tags=EVERY_MODE, depth=5, differs=STABLE)
def sum_of_quotients_by_sum_of_exps(node: NodeOf[Reduction]) -> TensorVariable | None:
    """sum(c / s, axes) -> sum(c, axes) / s, where s is a sum of exponentials that does not change along the axes.

    It is positive and finite where the quotient is of use. So it gets to the exponential that the result is
    multiplied with, in the gradient of a softmax that is written out.
    """
    op = node.op
    x = node.inputs[0]
    if op.kind != "sum" or kind_of(x) != "f" or op.dtype != x.dtype:
        return None
    operands, parity = operands_of(x, PRODUCT_SIGNS, MOST_FACTORS)
    for o in operands:
        shuffle = made_by(o.var, DimShuffle)
        if o.sign > 0 or shuffle is None or not _is_total(o.var):
            continue
        order = shuffle.op.order
        if any(order[d] != NEW for d in op.axes):
            continue
        rest = product_of([p for p in operands if p is not o], parity, x.dtype)
        if rest is None:
            continue
        kept = DimShuffle(tuple(e for d, e in enumerate(order) if d not in op.axes), shuffle.op.ndim)
        return cast_like(node.outputs[0], true_div(op(rest), _shuffled(kept, shuffle.inputs[0])))
    return None


@RULES.rule(
    Phase.STABILIZE,
    mul,
    true_div,
    tags=(*EVERY_MODE, "symbolic_op_recognition"),
    needs_graph=True,
    depth=5,
    after=("logistic_product",),
    needs=(exp,),
    differs=STABLE,
)
def quotient_by_sum_of_exps(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """exp(x) * (c / sum(exp(x))) -> c * softmax(x), exp(x) / (exp(x) + exp(y)) -> exp(x - logaddexp(x, y)).

    A softmax meets its inverse and goes; anywhere in a product, through dimensions added.
    """
    out = node.outputs[0]
    if kind_of(out) != "f":
        return None
    flat, parity = products_of(fgraph).operands(out)
    above = [i for i, o in enumerate(flat) if o.sign > 0 and applies(o.var.owner, exp)]
    if not above:
        return None
    operands, parity = _opened(flat, parity)
    for e in (o for o in operands if o.sign > 0 and applies(o.var.owner, exp)):
        for total in (o for o in operands if o.sign < 0):
            ratio = _ratio_of(e.var, total.var, out.dtype)
            if ratio is None:
                continue
            rest = [o for o in operands if o is not e and o is not total]
            inverse = _inverse_of(rest, ratio)
            factors = [o for o in rest if o is not inverse] if inverse is not None else [*rest, Operand(ratio, 1)]
            value = product_of(factors, parity, out.dtype)
            return None if value is None else broadcast_like(fgraph, out, value, [e.var, total.var])
    return None


def _inverse_of(rest: list[Operand], ratio: TensorVariable) -> Operand | None:
    """Return the factor that divides by the same softmax again, if there is one and other factors are left."""
    softmax = made_by(ratio, Softmax)
    if softmax is None or len(rest) < 2:
        return None
    for o in rest:
        other = made_by(o.var, Softmax)
        if o.sign < 0 and other is not None and other.op == softmax.op and other.inputs[0] is softmax.inputs[0]:
            return o
    return None


def _ratio_of(e: TensorVariable, total: TensorVariable, dtype: str) -> TensorVariable | None:
    """Return the quotient of an exponential and a sum of exponentials in a form that cannot overflow, or None."""
    x = e.owner.inputs[0] if e.owner is not None else None
    if x is None or x.dtype != dtype:
        return None
    expansion = expansion_of(total.owner, x.ndim)
    summed = sum_of_exponentials(expansion[0]) if expansion is not None else None
    if summed is not None and expansion is not None and summed[0] is x and summed[1] == expansion[1]:
        return Softmax(summed[1])(x)
    reduced = _log_of_reduced(total)
    scale = _log_of_sum(total) if reduced is None else reduced
    return None if scale is None or scale.dtype != dtype else exp(sub(x, scale))
