"""Choices along a batch: one condition for the whole batch stays a choice; one for each element chooses elementwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import IfElse
from treadle.tensor.dimshuffle import NEW, dimshuffle
from treadle.tensor.scalar.cast import switch
from treadle.tensor.types import TensorType
from treadle.tensor.vectorize.batching import aligned, batch_ndim, most_batch, refuse_batched, spread_all

if TYPE_CHECKING:
    from treadle.graph import Apply, Variable, VectorizerTable


def vectorize_ifelse(op: IfElse, node: Apply, *inputs: Any) -> Any:
    """Choose between batches, or elementwise between the branches where the condition has a batch."""
    pairs = list(zip(node.inputs, inputs, strict=True))
    others = [(old, new) for old, new in pairs[1:] if not isinstance(old.type, TensorType)]
    refuse_batched([(old, new) for old, new in others if hasattr(new.type, "ndim")], f"{op}: a value that is no tensor")
    condition = pairs[0]
    if isinstance(condition[0].type, TensorType) and batch_ndim(*condition):
        return _elementwise(op, node, pairs)
    branches: list[Variable] = []
    first, second = pairs[1 : 1 + op.n_outs], pairs[1 + op.n_outs :]
    made = [_together(a, b) for a, b in zip(first, second, strict=True)]
    branches = [*(a for a, _ in made), *(b for _, b in made)]
    return op.make_node(condition[1], *branches)


def _together(first: Any, second: Any) -> tuple[Any, Any]:
    """Return two values that belong together with the same batch dimensions."""
    if not isinstance(first[0].type, TensorType) or most_batch([first, second]) == 0:
        return first[1], second[1]
    a, b = spread_all([first, second])
    return a, b


def _elementwise(op: IfElse, node: Apply, pairs: Any) -> list[Variable]:
    """Return switches on the batched condition: both branches are computed, and must have one shape."""
    batch = most_batch([pair for pair in pairs if isinstance(pair[0].type, TensorType)])
    wide = aligned(pairs[0][0], pairs[0][1], batch)
    found: list[Variable] = []
    for i, out in enumerate(node.outputs):
        rank = getattr(out.type, "ndim", 0)
        test = dimshuffle(wide, *range(batch), *[NEW] * rank)
        first, second = (aligned(pairs[at][0], pairs[at][1], batch) for at in (1 + i, 1 + op.n_outs + i))
        found.append(switch(test, first, second))
    return found


def register(table: VectorizerTable) -> None:
    """Register the rule."""
    table.register(IfElse)(vectorize_ifelse)
