"""TypeCastingOp: the documented base of ops that return their input as another type."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from treadle.graph import Op, view_op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Cell, Value, Variable

__all__ = ["TypeCastingOp"]


class TypeCastingOp(Op):
    """An op whose result is its input, in the same memory, as a variable of another type: a subclass says which.

    Where the type is the same, every backend computes it; else it runs in Python.
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    view_map: dict[int, list[int]] = {0: [0]}  # noqa: RUF012 - the documented contract of Op

    @abstractmethod
    def make_node(self, *inputs: Any) -> Apply:
        """Return the node, whose output has the type that the input is returned as."""

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Return the value."""
        output_storage[0][0] = inputs[0]

    def decompose(self, *inputs: Variable) -> Sequence[Variable] | None:
        """Return the input, where the type is the same."""
        (out,) = self.make_node(*inputs).outputs
        return [view_op(inputs[0])] if out.type == inputs[0].type else None

    def __str__(self) -> str:
        return type(self).__name__
