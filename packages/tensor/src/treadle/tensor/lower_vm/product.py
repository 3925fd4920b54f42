"""Matrix products on the VM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.tensor.product import Gemm, MatMul

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply, LoweringTable


def lower(op: MatMul, node: Apply) -> Callable[..., Any]:
    """Return NumPy's matmul."""
    del op, node
    function: Callable[..., Any] = np.matmul
    return function


def lower_gemm(op: Gemm, node: Apply) -> Callable[..., Any]:
    """Return a function that scales and adds in the product's own memory."""
    del node
    function: Callable[..., Any] = op.apply
    return function


def register(table: LoweringTable) -> None:
    """Enter the family's rules."""
    table.register(MatMul)(lower)
    table.register(Gemm)(lower_gemm)
