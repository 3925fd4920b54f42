"""How stacks of matrices are made of other ones: rearranged, picked from, transposed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.elementwise.complex_numbers import conj
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.indexing.expressions import Span
from treadle.tensor.indexing.indexing import AdvancedSubtensor, Subtensor
from treadle.tensor.joins.joining import Join
from treadle.tensor.rewrites.analysis.predicates import argument_of, kind_of, made_by
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.dimshuffle import DimShuffle
from treadle.tensor.shapes.shape import Reshape

if TYPE_CHECKING:
    from treadle.tensor.rewrites.analysis.facts import Facts
    from treadle.tensor.variables.variable import TensorNode, TensorVariable


def is_real(x: TensorVariable) -> bool:
    """Whether a tensor is not complex."""
    return kind_of(x) != "c"


def is_uniform(x: TensorVariable) -> bool:
    """Whether matrices have one element, or are one number in every element, as far as is known."""
    return x.ndim < 2 or all(n == 1 for n in x.type.shape[-2:])


def fills(x: TensorVariable, out: TensorVariable, facts: Facts) -> bool:
    """Whether an operand has the rows and columns of a result: it is not repeated along them."""
    if x.ndim < 2:
        return False
    known = x.type.shape[-2:]
    return (None not in known and known == out.type.shape[-2:]) or facts.shapes.of(x)[-2:] == facts.shapes.of(out)[-2:]


def keeps_matrices(node: TensorNode, facts: Facts) -> bool:
    """Whether an op only rearranges or picks from a stack: its matrices are matrices of its first input."""
    x, out = node.inputs[0], node.outputs[0]
    op = node.op
    if x.ndim < 2 or out.ndim < 2:
        return False
    if isinstance(op, DimShuffle):
        return op.order[-2:] == (x.ndim - 2, x.ndim - 1)
    if isinstance(op, (Subtensor, AdvancedSubtensor)):
        return all(isinstance(e, Span) and e.is_full for e in op.entries[-2:]) and _picks_in_front(op)
    if isinstance(op, (Alloc, Reshape)):
        return fills(x, out, facts)
    return isinstance(op, Join) and op.axis < x.ndim - 2


def _picks_in_front(op: Subtensor | AdvancedSubtensor) -> bool:
    """Whether the dimensions that arrays of positions make stand before the last two of the result."""
    return isinstance(op, Subtensor) or len(op.entries) > 2


def transposed(x: TensorVariable) -> TensorVariable | None:
    """Return what a tensor is the transpose of, its last two dimensions exchanged."""
    node = made_by(x, DimShuffle)
    if node is None or x.ndim < 2 or node.op.order != (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2):
        return None
    return node.inputs[0]


def is_transpose(x: TensorVariable, y: TensorVariable) -> bool:
    """Whether a tensor is the transpose of another one."""
    return x.ndim == y.ndim > 1 and is_exchange(x, y, x.ndim - 2, x.ndim - 1)


def is_adjoint(x: TensorVariable, y: TensorVariable) -> bool:
    """Whether a tensor is the conjugate transpose of another one."""
    if is_real(x):
        return is_transpose(x, y)
    return _is_adjoint(x, y) or _is_adjoint(y, x)


def _is_adjoint(x: TensorVariable, y: TensorVariable) -> bool:
    """Whether a tensor was made as the conjugate transpose of another one."""
    conjugated = _conjugated(x)
    if conjugated is not None:
        return is_transpose(conjugated, y)
    below = transposed(x)
    return below is not None and _conjugated(below) is y


def _conjugated(x: TensorVariable) -> TensorVariable | None:
    return argument_of(conj, x)


def is_exchange(x: TensorVariable, y: TensorVariable, i: int, j: int, depth: int = 4) -> bool:
    """Whether a tensor is another one with two dimensions exchanged, by the way in which both were made."""
    if x.type.ndim != y.type.ndim or depth == 0:
        return False
    n, m = x.owner, y.owner
    for a, b in ((n, y), (m, x)):
        if a is not None and isinstance(a.op, DimShuffle) and a.inputs[0] is b and a.op.order == _swapped(b.ndim, i, j):
            return True
    if n is None or m is None or type(n.op) is not type(m.op):
        return False
    if isinstance(n.op, DimShuffle) and isinstance(m.op, DimShuffle):
        order = list(n.op.order)
        order[i], order[j] = order[j], order[i]
        return n.inputs[0] is m.inputs[0] and tuple(order) == m.op.order
    if isinstance(n.op, Elemwise) and n.op == m.op:
        pairs = zip(n.inputs, m.inputs, strict=True)
        return all(
            is_exchange(a, b, i, j, depth - 1) or (a is b and a.type.shape[i] == a.type.shape[j] == 1) for a, b in pairs
        )
    return False


def _swapped(ndim: int, i: int, j: int) -> tuple[int, ...]:
    order = list(range(ndim))
    order[i], order[j] = j, i
    return tuple(order)


def is_square(x: TensorVariable, facts: Facts) -> bool:
    """Whether matrices are certain to have as many rows as columns: by their lengths, or by what is stated of them."""
    return facts.hold("square", x)
