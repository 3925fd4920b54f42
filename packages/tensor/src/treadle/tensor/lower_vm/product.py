"""Matrix products on the VM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.link.vm import TABLE
from treadle.tensor.product import Gemm, MatMul

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@TABLE.register(MatMul)
def lower(op: MatMul, node: Apply) -> Callable[..., np.ndarray]:
    """Return NumPy's matmul."""
    del op, node
    function: Callable[..., np.ndarray] = np.matmul
    return function


@TABLE.register(Gemm)
def lower_gemm(op: Gemm, node: Apply) -> Callable[..., np.ndarray]:
    """Return a function that scales and adds in the product's own memory."""
    del node
    function: Callable[..., np.ndarray] = op.apply
    return function
