"""Fused reductions; torch.compile fuses the two again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from treadle.link.torch.lower.elemwise import composite
from treadle.link.torch.lower.reduction import reduction
from treadle.link.torch.table import TORCH, Checked
from treadle.tensor import FusedReduction

if TYPE_CHECKING:
    from treadle.graph import Apply


@TORCH.register(FusedReduction)
def fused_reduction(op: FusedReduction, node: Apply) -> Checked:
    """Lower to the steps, then to the reductions of their results."""
    kinds: list[Any] = [x.type for x in node.inputs]
    steps = composite(op.composite, [t.dtype for t in kinds])
    _, parts = op.parts(node)
    pairs = zip(op.reductions, parts, strict=True)
    reductions = [None if r is None or part is None else reduction(r, part) for r, part in pairs]

    def run(*xs: Any) -> tuple[Any, Any]:
        bad, found = steps.run(*xs)
        values = found if isinstance(found, tuple) else (found,)
        full = torch.broadcast_tensors(*values, *xs)
        results = tuple(v if r is None else r(v) for v, r in zip(full, reductions, strict=False))
        return bad, results[0] if len(results) == 1 else results

    return Checked(run)
