"""Matrix products on the VM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.link.vm import TABLE
from treadle.tensor.products.product import Gemm, MatMul

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply
    from treadle.tensor.variables.variable import TensorNode


@TABLE.register(MatMul)
def lower(op: MatMul, node: TensorNode) -> Callable[..., np.ndarray]:
    """Return NumPy's matmul, or for two matrices of floats dot, which calls BLAS at once."""
    del op
    kinds = [x.type for x in node.inputs]
    function: Callable[..., np.ndarray] = np.matmul
    if all(kind.ndim == 2 and kind.numpy_dtype.kind in "fc" and kind.dtype != "float16" for kind in kinds):
        function = np.dot
    return function


@TABLE.register(Gemm)
def lower_gemm(op: Gemm, node: Apply) -> Callable[..., np.ndarray]:
    """Return a function that scales and adds in the product's own memory."""
    del node
    function: Callable[..., np.ndarray] = op.apply
    return function
