"""How far from the diagonal of its matrices a tensor may be other than 0, by the op that makes it."""

from __future__ import annotations

from functools import cache, reduce
from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Constant
from treadle.tensor.arrangement.diagonals import AllocDiag
from treadle.tensor.control.assumption import SpecifyAssumptions
from treadle.tensor.elementwise.arithmetic import add, sub
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, le, lt, neq
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.indexing.indexing import AdvancedSubtensor, Subtensor
from treadle.tensor.indexing.ranges import ARange
from treadle.tensor.joins.joining import Join
from treadle.tensor.ops.known_values import known_value
from treadle.tensor.products.product import MatMul
from treadle.tensor.reductions.reduction import Reduction
from treadle.tensor.rewrites.analysis.fact_rules import FULL, narrower, wider
from treadle.tensor.rewrites.analysis.predicates import (
    applies,
    constant_value,
    converse_of,
    function_of,
    is_zero,
    made_by,
    negation_of,
)
from treadle.tensor.rewrites.analysis.stacks import fills, is_uniform, keeps_matrices, transposed
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle
from treadle.tensor.shapes.shape import Reshape

if TYPE_CHECKING:
    from treadle.tensor.elementwise.scalar_op import ScalarOp
    from treadle.tensor.rewrites.analysis.fact_rules import Bands
    from treadle.tensor.rewrites.analysis.facts import Facts
    from treadle.tensor.variables.variable import TensorNode, TensorVariable


def bands(out: TensorVariable, facts: Facts) -> Bands:
    """Return the bands of what an op makes."""
    node = out.owner
    if node is None:
        return FULL
    op = node.op
    if is_zero(out):
        return 0, 0
    if isinstance(op, SpecifyAssumptions):
        denied = {fact for fact, held in op.assumptions if not held}
        return FULL if denied & {"diagonal", "lower_triangular", "upper_triangular"} else facts.bands(node.inputs[0])
    if isinstance(op, Elemwise):
        return _bands_of_elementwise(out, facts)
    if isinstance(op, AllocDiag):
        return max(0, -op.offset), max(0, op.offset)
    if isinstance(op, MatMul):
        sides = zip(*(facts.bands(x) for x in node.inputs), strict=True)
        below, above = (None if None in side else sum(n for n in side if n is not None) for side in sides)
        return below, above
    if isinstance(op, Join):
        return wider(*(facts.bands(x) for x in node.inputs)) if keeps_matrices(node, facts) else FULL
    if isinstance(op, Reduction) and op.kind == "sum":
        x = node.inputs[0]
        return facts.bands(x) if out.ndim > 1 and max(op.axes, default=0) < x.ndim - 2 else FULL
    if isinstance(op, (DimShuffle, Subtensor, AdvancedSubtensor, Alloc, Reshape)):
        if keeps_matrices(node, facts):
            return facts.bands(node.inputs[0])
        inner = transposed(out)
        return FULL if inner is None else (facts.bands(inner)[1], facts.bands(inner)[0])
    return FULL


def _bands_of_elementwise(out: TensorVariable, facts: Facts) -> Bands:
    """Return where an elementwise function of matrices is not 0, where its operands are not repeated."""
    node = made_by(out, Elemwise)
    function = function_of(node)
    if node is None or function is None:
        return FULL
    comparison = compared(node)
    if comparison is not None:
        return _bands_of_comparison(*comparison)
    of = [
        (0, 0) if is_zero(x) else facts.bands(x) if not is_uniform(x) and fills(x, out, facts) else FULL
        for x in node.inputs
    ]
    if applies(node, switch):
        condition = node.inputs[0]
        while (view := made_by(condition, DimShuffle)) is not None and view.op.adds_in_front_only:
            condition = view.inputs[0]
        comparison = None if condition.owner is None else compared(condition.owner)
        if comparison is None:
            return wider(of[1], of[2])
        return wider(
            narrower(_bands_of_comparison(*comparison), of[1]),
            narrower(_bands_of_comparison(*comparison, negated=True), of[2]),
        )
    if function.zero_of:
        return reduce(narrower, (of[at] for at in function.zero_of))
    return wider(*of) if _is_zero_at_zero(function, node.op.loop_dtypes(node)) else FULL


@cache
def _is_zero_at_zero(function: ScalarOp, dtypes: tuple[np.dtype, ...]) -> bool:
    """Whether a function is 0 where all its operands are, which have these dtypes."""
    with np.errstate(all="ignore"):
        return not function.impl(*(np.zeros((), dtype) for dtype in dtypes))


def compared(node: TensorNode) -> tuple[Elemwise, int] | None:
    """Return how a comparison of positions says ``column - row`` compares with a number, such as ``(le, 0)``."""
    if not applies(node, eq, lt, le, gt, ge):
        return None
    left, right = map(_positions, node.inputs)
    if left is None or right is None or {left[0], right[0]} != {-1, -2}:
        return None
    # row + a >= column + b is column - row <= a - b.
    if left[0] == -1:
        return node.op, right[1] - left[1]
    return converse_of(node.op), left[1] - right[1]


_AXES: dict[tuple[int | str, ...], int] = {(0, NEW): -2, (NEW, 0): -1}


def _positions(x: TensorVariable) -> tuple[int, int] | None:
    """Return which dimension's positions a tensor holds, -2 for rows and -1 for columns, and the number added."""
    added = 0
    while applies(node := x.owner, add, sub):
        a, b = node.inputs
        is_sum = applies(node, add)
        if is_sum and constant_value(a) is not None:
            a, b = b, a
        number = _integer(b)
        if number is None:
            return None
        x, added = a, added + (number if is_sum else -number)
    view = made_by(x, DimShuffle)
    axis = None if view is None else _AXES.get(view.op.order[-2:])
    if view is None or axis is None or any(d != NEW for d in view.op.order[:-2]):
        return _constant_positions(x, added)
    vector = view.inputs[0]
    if isinstance(vector, Constant):
        counts = np.array_equal(vector.data, np.arange(vector.data.size))
        return (axis, added) if counts else None
    counted = made_by(vector, ARange)
    if counted is None or constant_value(counted.inputs[0]) != 0 or constant_value(counted.inputs[2]) != 1:
        return None
    return axis, added


def _integer(x: TensorVariable) -> int | None:
    """Return the integer that a tensor of one element holds, if it is known."""
    while (node := made_by(x, DimShuffle)) is not None:
        x = node.inputs[0]
    number = constant_value(x) if isinstance(x, Constant) else known_value(x) if x.ndim == 0 else None
    return number if isinstance(number, int) else None


def _constant_positions(x: TensorVariable, added: int) -> tuple[int, int] | None:
    if not isinstance(x, Constant) or x.ndim != 2 or 1 not in x.data.shape or x.data.size < 2:
        return None
    first = int(x.data.flat[0])
    if x.data.dtype.kind not in "iu" or not np.array_equal(x.data.ravel(), first + np.arange(x.data.size)):
        return None
    return (-2 if x.data.shape[1] == 1 else -1), added + first


def _bands_of_comparison(comparison: Elemwise, number: int, negated: bool = False) -> Bands:
    """Return the bands of where ``column - row`` compares with a number."""
    if negated:
        comparison = negation_of(comparison)
    if comparison == lt:
        return _bands_of_comparison(le, number - 1)
    if comparison == gt:
        return _bands_of_comparison(ge, number + 1)
    if comparison == neq:
        return FULL
    return (None if comparison == le else max(0, -number)), (None if comparison == ge else max(0, number))
