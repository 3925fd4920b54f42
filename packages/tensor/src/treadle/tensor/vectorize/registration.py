"""Entering the rules of every family into the table of vectorisers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.types import TensorType
from treadle.tensor.vectorize import (
    conditional,
    dimshuffle,
    elemwise,
    external_op,
    from_graph,
    fused_reduction,
    indexing,
    joining,
    product,
    reduction,
    shape,
)
from treadle.tensor.vectorize.batching import complete

if TYPE_CHECKING:
    from treadle.graph import VectorizerTable


def register(table: VectorizerTable) -> None:
    """Register the rules, and how results get the batch dimensions that they lack."""
    table.register_completion(TensorType)(complete)
    structured = (dimshuffle, shape, reduction, fused_reduction, product, joining, indexing)
    for family in (elemwise, *structured, conditional, from_graph, external_op):
        family.register(table)
