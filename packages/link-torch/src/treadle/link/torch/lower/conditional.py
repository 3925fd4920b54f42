"""Choices between branches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import IfElse
from treadle.link.torch.table import TORCH

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@TORCH.register(IfElse)
def ifelse(op: IfElse, node: Apply) -> Callable[..., Any]:
    """Lower to a choice made in Python, between the compiled stretches (see `treadle.link.torch.choices`)."""
    del node
    count = op.n_outs

    def run(condition: Any, *values: Any) -> Any:
        taken = values[:count] if bool(condition) else values[count:]
        return taken[0] if count == 1 else taken

    return run
