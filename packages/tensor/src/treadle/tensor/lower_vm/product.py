"""Matrix products on the VM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.link.vm import TABLE
from treadle.tensor.product import Gemm, MatMul

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@TABLE.register(MatMul)
def lower(op: MatMul, node: Apply) -> Callable[..., Any]:
    """Return NumPy's matmul."""
    del op, node
    function: Callable[..., Any] = np.matmul
    return function


@TABLE.register(Gemm)
def lower_gemm(op: Gemm, node: Apply) -> Callable[..., Any]:
    """Return a function that scales and adds in the product's own memory."""
    del node
    function: Callable[..., Any] = op.apply
    return function
