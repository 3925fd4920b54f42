"""DimShuffle: views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.link.torch.table import TORCH
from treadle.tensor import DimShuffle

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@TORCH.register(DimShuffle)
def dimshuffle(op: DimShuffle, node: Apply) -> Callable[..., Any]:
    """Lower to permute, after taking the dropped dimensions at their only position, and new dimensions."""
    del node
    dropped = op.dropped
    kept = [d for d in range(op.ndim) if d not in dropped]
    order = [kept.index(d) for d in op.order if isinstance(d, int)]
    new = [at for at, d in enumerate(op.order) if not isinstance(d, int)]

    def rearrange(x: Any) -> Any:
        for d in reversed(dropped):
            if x.shape[d] != 1:
                msg = "a dropped dimension must have length 1"
                raise ValueError(msg)
            x = x.select(d, 0)
        x = x.permute(order)
        for at in new:
            x = x.unsqueeze(at)
        return x

    return rearrange
