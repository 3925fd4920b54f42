"""Views of whole arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import ViewOp
from treadle.kernels import TABLE, Site

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorNode


@TABLE.register(ViewOp)
def lower_view(op: ViewOp, node: TensorNode, site: Site) -> None:
    """Make the view."""
    (x,) = node.inputs
    site.view(node.outputs[0], x, range(x.type.ndim))
