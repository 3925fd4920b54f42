"""TensorOp: the base of ops of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from treadle.graph import DisconnectedType, NullType, Op
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.variables.variable import TensorVariable


class TensorOp(Op):
    """An op whose inputs are tensors, or anything that can be made one."""

    # Whether the op is linear in its first inputs: "jointly", as a sum or a join, so that the op applied to their
    # tangents gives that of the result; or in "each", as a product, so that the terms of one tangent after the other
    # add up. Forward mode needs no other rule of such an op.
    linear: ClassVar[Literal["jointly", "each"] | None] = None
    # In how many it is, None for all; the others are indices, lengths and the like.
    linear_count: ClassVar[int | None] = 1

    def as_input(self, value: object) -> TensorVariable:
        """Take anything that can be made a tensor."""
        return as_tensor_variable(value)  # type: ignore[arg-type]  # refuses what is none

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Return the tangents of an op that says how it is linear; any other has no rule unless it defines one."""
        if self.linear is None:
            return super().pushforward(inputs, outputs, tangents)
        moving: list[Any] = [
            t if t is not None and _moves(x, t) else None
            for x, t in zip(inputs[: self.linear_count], tangents, strict=False)
        ]
        if all(t is None for t in moving):
            return [None] * len(outputs)
        if self.linear == "jointly":
            xs: Sequence[Any] = inputs
            directions = [x.zeros_like() if t is None else t for x, t in zip(xs, moving, strict=False)]
            return list(self.make_node(*directions, *inputs[len(moving) :]).outputs)
        total: list[Any] = []
        for i, t in enumerate(moving):
            if t is not None:
                terms = self.make_node(*inputs[:i], t, *inputs[i + 1 :]).outputs
                total = [a + b for a, b in zip(total, terms, strict=True)] if total else terms
        return list(total)


def _moves(x: Variable, tangent: Variable) -> bool:
    """Whether an input has a tangent: integers have none."""
    smooth = isinstance(x.type, TensorType) and x.type.numpy_dtype.kind in "fc"
    return smooth and not isinstance(tangent.type, DisconnectedType | NullType)
