"""Copies and views of whole arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import DeepCopyOp, ViewOp
from treadle.kernels import TABLE, Site

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorNode


@TABLE.register(DeepCopyOp)
def lower_deep_copy(op: DeepCopyOp, node: TensorNode, site: Site) -> None:
    """Copy the array."""
    site.copy(node.outputs[0], node.inputs[0])


@TABLE.register(ViewOp)
def lower_view(op: ViewOp, node: TensorNode, site: Site) -> None:
    """Make the view."""
    (x,) = node.inputs
    site.view(node.outputs[0], x, range(x.type.ndim))
