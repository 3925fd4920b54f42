"""Slices and single positions: views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.kernels import TABLE, Site
from treadle.tensor.indexing.indexing import Subtensor
from treadle.tensor.linking.basic_parts import basic_part

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorNode


@TABLE.register(Subtensor)
def lower_subtensor(op: Subtensor, node: TensorNode, site: Site) -> None:
    """Make the view."""
    x, *bounds = node.inputs
    axes, shift = basic_part(site, site.layout(x), op.entries, iter(bounds))
    site.view(node.outputs[0], x, [axis for _, axis in axes], shift)
