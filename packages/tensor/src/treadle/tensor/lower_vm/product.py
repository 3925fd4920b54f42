"""Matrix products on the VM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.tensor.product import MatMul

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply, LoweringTable


def lower(op: MatMul, node: Apply) -> Callable[..., Any]:
    """Return NumPy's matmul."""
    del op, node
    function: Callable[..., Any] = np.matmul
    return function


def register(table: LoweringTable) -> None:
    """Enter the family's rules."""
    table.register(MatMul)(lower)
