"""TensorOp: the base of ops of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from treadle.config import lazy_module
from treadle.graph import Op
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.gradients import forward_mode as jvp
    from treadle.tensor.variables.variable import TensorVariable
else:
    # It computes with tensors, whose ops derive from the class below.
    jvp = lazy_module("treadle.tensor.gradients.forward_mode")


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
        return jvp.pushed_linearly(self, inputs, outputs, tangents)
