"""Elementwise functions along a batch: all inputs have one rank already, so that broadcasting does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.tensor.elemwise import Elemwise

if TYPE_CHECKING:
    from treadle.graph import Apply, VectorizerTable


def vectorize_elemwise(op: Elemwise, node: Apply, *inputs: Any) -> Apply:
    """Apply the function: batch dimensions stand in front of dimensions that broadcast together as before."""
    del node
    return op.make_node(*inputs)


def register(table: VectorizerTable) -> None:
    """Register the rules."""
    table.register(Elemwise)(vectorize_elemwise)
