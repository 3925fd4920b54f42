"""Whether a tensor is the same with two of its dimensions exchanged, by the op that makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Constant
from treadle.tensor.control.assumption import FACTS, SpecifyAssumptions
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.exponential import power
from treadle.tensor.products.product import MatMul
from treadle.tensor.reductions.reduction import Reduction
from treadle.tensor.rewrites.analysis.predicates import applies, constant_value, function_of, kind_of, made_by
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
    function = function_of(node)
    if function is None:
        return 0
    signs = [facts.exchanged(x, i, j) for x in node.inputs]
    if all(sign == 1 for sign in signs):
        return 1
    if 0 not in signs:
        changed = [sign == -1 for sign in signs]
        if all(_has_sign(x, node) for x, is_changed in zip(node.inputs, changed, strict=True) if is_changed):
            sign = function.sign_of(changed)
            if sign or not applies(node, power):
                return sign
        # An even power, as x ** 2 is written.
        exponent = constant_value(node.inputs[-1])
        is_even = isinstance(exponent, (int, float)) and exponent % 2 == 0
        return int(applies(node, power) and signs == [-1, 1] and is_even)
    if len(node.inputs) == 2 and is_exchange(node.inputs[0], node.inputs[1], i, j):
        return 1 if function.commutative else -1 if function.anticommutative else 0
    return 0


def _has_sign(x: TensorVariable, node: TensorNode) -> bool:
    """Whether the parity of a function holds for an operand: the negative of an unsigned integer has wrapped around.

    The least of the other integers, which is its own negative, is left out of account.
    """
    function = function_of(node)
    return kind_of(x) in "ifc" or (function is not None and function.wraps and x.dtype == node.outputs[0].dtype)
