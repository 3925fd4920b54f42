"""TensorOp: the base of ops of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Op
from treadle.tensor.conversion import as_tensor_variable

if TYPE_CHECKING:
    from treadle.tensor.variable import TensorVariable


class TensorOp(Op):
    """An op whose inputs are tensors, or anything that can be made one."""

    def as_input(self, value: object) -> TensorVariable:
        """Take anything that can be made a tensor."""
        return as_tensor_variable(value)  # type: ignore[arg-type]  # refuses what is none
