"""Rules for ops applied along a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import RuleSet
from treadle.tensor.batches.blockwise import Blockwise
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf

RULES = RuleSet("blockwise")


@RULES.rule(EARLY_AND_LATE, Blockwise, tags=(*BOTH, "blockwise", "local_useless_unbatched_blockwise"))
def blockwise_of_batching_op(node: NodeOf[Blockwise]) -> Sequence[Variable] | None:
    """blockwise(f)(x) -> f(x), where there is no batch, or f takes batches itself."""
    if node.op.batch_ndim(node) == 0:
        return node.op.core_op.make_node(*node.inputs).outputs
    outputs = node.op.decompose(*node.inputs)
    if outputs is None or not all(old.type.is_super(new.type) for old, new in zip(node.outputs, outputs, strict=True)):
        return None
    return outputs
