"""Whether a tensor is the same with two of its dimensions exchanged, by the op that makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Constant
from treadle.tensor.control.assumption import FACTS, SpecifyAssumptions
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.scalar_op import ScalarOp
from treadle.tensor.products.product import MatMul
from treadle.tensor.reductions.reduction import Reduction
from treadle.tensor.rewrites.analysis.predicates import constant_value, made_by
from treadle.tensor.rewrites.analysis.stacks import is_exchange, is_real, is_square, is_transpose
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.dimshuffle import DimShuffle

if TYPE_CHECKING:
    from treadle.tensor.rewrites.analysis.facts import Facts
    from treadle.tensor.variables.variable import TensorNode, TensorVariable


def exchanged(var: TensorVariable, i: int, j: int, facts: Facts) -> int:
    """Return 1 if a tensor is the same with two dimensions exchanged, -1 if it is its negative, or else 0."""
    if var.type.shape[i] == 1 and var.type.shape[j] == 1:
        return 1
    if isinstance(var, Constant):
        if {i, j} == {var.ndim - 2, var.ndim - 1}:
            return int(facts.states("symmetric", var))
        return 0
    node = var.owner
    if node is None:
        return 0
    op = node.op
    if isinstance(op, DimShuffle):
        a, b = op.order[i], op.order[j]
        return facts.exchanged(node.inputs[0], a, b) if isinstance(a, int) and isinstance(b, int) else 0
    if isinstance(op, Elemwise):
        return _exchanged_elementwise(node, i, j, facts)
    if isinstance(op, Reduction):
        kept = [d for d in range(node.inputs[0].ndim) if d not in op.axes]
        sign = facts.exchanged(node.inputs[0], kept[i], kept[j])
        return sign if sign == 1 or op.kind == "sum" else 0
    if isinstance(op, Alloc):
        offset = var.ndim - node.inputs[0].ndim
        own = [1 if d < offset else node.inputs[0].type.shape[d - offset] for d in (i, j)]
        return int(own == [1, 1] and facts.shapes.of(var)[i] == facts.shapes.of(var)[j])
    if {i, j} == {var.ndim - 2, var.ndim - 1}:
        if isinstance(op, MatMul):
            return int(_is_symmetric_product(node, facts))
        ways = FACTS.ways("symmetric", not is_real(var))
        return int(any(facts.states(way, var) for way in ways) or is_square_diagonal(var, facts))
    if isinstance(op, SpecifyAssumptions):
        return facts.exchanged(node.inputs[0], i, j)
    return 0


def is_square_diagonal(var: TensorVariable, facts: Facts) -> bool:
    """Whether matrices are certain to be square, and 0 off their diagonals."""
    return facts.bands(var) == (0, 0) and is_square(var, facts)


def _is_symmetric_product(node: TensorNode, facts: Facts) -> bool:
    a, b = node.inputs
    if is_transpose(a, b):
        return True
    left, right = made_by(a, MatMul), made_by(b, MatMul)
    if left is not None and is_transpose(left.inputs[0], b):
        return facts.hold("symmetric", left.inputs[1])
    return right is not None and is_transpose(a, right.inputs[1]) and facts.hold("symmetric", right.inputs[0])


def _exchanged_elementwise(node: TensorNode, i: int, j: int, facts: Facts) -> int:
    scalar_op = node.op.scalar_op if isinstance(node.op, Elemwise) else None
    if not isinstance(scalar_op, ScalarOp):
        return 0
    signs = [facts.exchanged(x, i, j) for x in node.inputs]
    if all(sign == 1 for sign in signs):
        return 1
    name = scalar_op.name
    if 0 not in signs:
        if name in {"mul", "true_div"}:
            return int(np.prod(signs))
        if name in {"add", "sub"}:
            return -1 if set(signs) == {-1} else 0
        if len(signs) == 1:
            return {"even": 1, "odd": -1}.get(scalar_op.parity or "", -1 if name.startswith("cast_f") else 0)
        # An even power, as x ** 2 is written.
        power = constant_value(node.inputs[-1])
        return 1 if name == "pow" and signs[0] == -1 and isinstance(power, (int, float)) and power % 2 == 0 else 0
    if len(node.inputs) == 2 and is_exchange(node.inputs[0], node.inputs[1], i, j):
        return 1 if scalar_op.commutative else -1 if name == "sub" else 0
    return 0
