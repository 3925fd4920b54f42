"""Lengths as values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.kernels import TABLE, Site
from treadle.tensor.shapes.shape import Shape, ShapeI

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorNode


@TABLE.register(Shape)
def lower_shape(op: Shape, node: TensorNode, site: Site) -> None:
    """Write all lengths into a vector."""
    lengths, _ = site.layout(node.inputs[0])
    site.write_lengths(node.outputs[0], lengths)


@TABLE.register(ShapeI)
def lower_shape_i(op: ShapeI, node: TensorNode, site: Site) -> None:
    """Take one length."""
    lengths, _ = site.layout(node.inputs[0])
    site.write_lengths(node.outputs[0], [lengths[op.axis]])
