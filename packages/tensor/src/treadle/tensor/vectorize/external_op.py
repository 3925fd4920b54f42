"""Functions of other libraries along a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import VectorizeError
from treadle.tensor.external_op import Batched, ExternalOp
from treadle.tensor.types import TensorType
from treadle.tensor.vectorize.batching import batch_ndim, most_batch, spread_all

if TYPE_CHECKING:
    from treadle.graph import Apply, Variable, VectorizerTable


def vectorize_external(op: ExternalOp[Any], node: Apply, *inputs: Variable) -> Apply:
    """Let the library map its function over the batch.

    Raises
    ------
    VectorizeError
        If a value is no tensor.
    """
    others = [var for var in (*node.inputs, *node.outputs) if not isinstance(var.type, TensorType)]
    if others:
        msg = f"{op}: a value that is no tensor has no batch, got {others[0]} of type {others[0].type}"
        raise VectorizeError(msg)
    pairs = list(zip(node.inputs, inputs, strict=True))
    # A loop takes all inputs apart.
    whole = type(op).batch is ExternalOp.batch
    batched = tuple(whole or batch_ndim(old, new) > 0 for old, new in pairs)
    along = [pair for pair, varies in zip(pairs, batched, strict=True) if varies]
    spread = iter(spread_all(along))
    wide: list[Any] = [next(spread) if varies else new for (_, new), varies in zip(pairs, batched, strict=True)]
    rank = most_batch(pairs)
    lengths = next(x.type.shape[:rank] for x, varies in zip(wide, batched, strict=True) if varies)
    otypes = [
        TensorType(out.type.dtype, (*lengths, *out.type.shape))
        for out in node.outputs
        if isinstance(out.type, TensorType)
    ]
    return op.over_batch(Batched(op, batched, rank), [x.type for x in wide], otypes).make_node(*wide)


def register(table: VectorizerTable) -> None:
    """Register the rule."""
    table.register(ExternalOp)(vectorize_external)
