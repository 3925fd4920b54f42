"""The signs of cotangents: each is written once, behind the products that follow, not in front of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import new_serial
from treadle.tensor.elementwise.arithmetic import Scaling, neg, sub
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.gradients import adding
from treadle.tensor.reductions.reduction import Reduction
from treadle.tensor.shapes.broadcasting import SumTo
from treadle.tensor.shapes.dimshuffle import DimShuffle
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, Variable

    Terms = Sequence[Variable | None]


class Signs:
    """The signs of the cotangents of one gradient.

    What flows back through a difference or a quotient is the negative of something. Its sign goes behind the products
    that follow, and ends in a difference: ``a - b * c``, not ``a + (-b) * c``. Only negatives that the gradient itself
    has written are taken apart: other variables may be replaced later.
    """

    __slots__ = ("_start",)

    def __init__(self) -> None:
        self._start = new_serial()

    def _positive(self, var: Variable | None) -> Variable | None:
        """Return what a variable is the negative of, if this gradient has written it so."""
        node = None if var is None else var.owner
        return node.inputs[0] if node is not None and node.op is neg and node.serial > self._start else None

    def terms(self, node: Apply, cotangents: Terms, pull: Callable[[Terms], Terms]) -> Terms:
        """Return what flows back through a node, as `pull` gives it for cotangents."""
        positive = self._positive(cotangents[0]) if len(cotangents) == 1 and _is_scaling(node) else None
        if positive is None:
            return pull(cotangents)
        return [None if term is None else self._negative(term) for term in pull([positive])]

    def _negative(self, term: Variable) -> Variable:
        if not isinstance(term.type, TensorType):
            return term
        positive = self._positive(term)
        return neg(term) if positive is None else positive

    def summed(self, old: Variable | None, new: Variable) -> Variable:
        """Return the sum of two gradients of one variable, the first of which may not be there yet."""
        if old is None or type(old.type) is not TensorType or type(new.type) is not TensorType:
            return adding.summed(old, new)
        more, less = self._positive(old), self._positive(new)
        if less is None:
            return adding.summed(old, new) if more is None else sub(new, more)
        return sub(old, less) if more is None else neg(adding.summed(more, less))


def _is_scaling(node: Apply) -> bool:
    """Whether what flows back through a node is the cotangent times something, its elements moved or summed."""
    op = node.op
    if isinstance(op, Elemwise):
        return isinstance(getattr(op.scalar_op, "pullback", None), Scaling)
    return isinstance(op, DimShuffle | SumTo) or (isinstance(op, Reduction) and op.kind == "sum")
