"""Ops that only decide in whose memory a value is: a copy, and a view."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from treadle.graph.ir.op import Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.thunk import Cell, SymbolicShape, Value
    from treadle.graph.ir.type import Type
    from treadle.graph.ir.variable import Variable


class _SameValue(Op):
    """Base of ops whose result equals their input."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the input's type."""
        return types

    def infer_shape(self, node: Apply, shapes: Sequence[SymbolicShape | None]) -> Sequence[SymbolicShape | None]:
        """Return the input's shape."""
        return shapes

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable | None]:
        """Pass the cotangent on."""
        return list(cotangents)

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Pass the tangent on."""
        return list(tangents)


class DeepCopyOp(_SameValue):
    """A copy of the input, which shares no memory with it.

    `treadle.compile` puts it before the outputs of a function that would share memory with an input, with a shared
    variable or with another output, where ``borrow`` does not allow that.

    Examples
    --------
    >>> v = tt.dvector("v")
    >>> DeepCopyOp()(v).eval({v: [1.0]})
    array([1.])
    """

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Copy the value."""
        output_storage[0][0] = node.inputs[0].type.copy_value(inputs[0])

    def do_constant_folding(self, fgraph: object, node: Apply) -> bool:
        """Refuse: the copy is to be made in each call."""
        return False


class ViewOp(_SameValue):
    """The input itself, in the same memory.

    `treadle.compile` puts it before the outputs of a function that may share memory because ``borrow`` allows it; a
    program then need not copy.

    Examples
    --------
    >>> ViewOp().view_map
    {0: [0]}
    """

    view_map: dict[int, list[int]] = {0: [0]}  # noqa: RUF012 - the documented contract of Op

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Return the value."""
        output_storage[0][0] = inputs[0]


deep_copy_op = DeepCopyOp()
view_op = ViewOp()
