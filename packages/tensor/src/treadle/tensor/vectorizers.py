"""Batch rules that need more than the room of their ops may import; the others are methods of the ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.batches.batching import complete
from treadle.tensor.batches.blockwise import in_a_loop
from treadle.tensor.batches.reshaping import vectorize_reshape
from treadle.tensor.indexing.batches import vectorize_put, vectorize_take
from treadle.tensor.indexing.indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor
from treadle.tensor.indexing.searching import BinCount
from treadle.tensor.shapes.shape import Reshape
from treadle.tensor.sorting.counting import vectorize_bincount
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from treadle.graph import VectorizerTable


def register(table: VectorizerTable) -> None:
    """Register the rules that no method of an op says, and how tensors get the batch dimensions that they lack."""
    table.register(AdvancedIncSubtensor, IncSubtensor)(vectorize_put)
    table.register(AdvancedSubtensor, Subtensor)(vectorize_take)
    table.register(BinCount)(vectorize_bincount)
    table.register(Reshape)(vectorize_reshape)
    table.register_completion(TensorType)(complete)
    table.register_default(TensorType)(in_a_loop)
