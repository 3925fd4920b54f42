"""Elementwise functions on the VM: NumPy's own functions, called directly where dtypes allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.link.vm import TABLE
from treadle.tensor.composite import Composite
from treadle.tensor.elemwise import Elemwise

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor.variable import TensorNode

# Elements from which on memory of one's own costs more than asking whether an operand's will do.
LARGE = 4096


@TABLE.register(Elemwise)
def lower(op: Elemwise, node: TensorNode) -> Callable[..., np.ndarray] | None:
    """Return the NumPy function itself where nothing is to be converted, else None or a wrapper."""
    scalar = op.scalar_op
    if isinstance(scalar, Composite):
        return None
    kinds = [v.type for v in node.inputs]
    out = node.outputs[0].type
    direct = scalar.ufunc is not None and all(
        t.numpy_dtype == d for t, d in zip(kinds, op.loop_dtypes(node), strict=True)
    )
    if not direct or scalar.name == "identity":
        return None
    if out.ndim > 0:
        function: Callable[..., np.ndarray] = scalar.impl
        return _over(function, op.inplace[0][1]) if op.inplace else function
    return _scalar(scalar.impl)


def _over(function: Callable[..., np.ndarray], at: int) -> Callable[..., np.ndarray]:
    """Return the function, which writes its result over an operand where that is large and no other is larger."""

    def run(*values: np.ndarray) -> np.ndarray:
        target = values[at]
        if target.size < LARGE or not target.flags.writeable or any(x.shape != target.shape for x in values):
            return function(*values)
        return function(*values, out=target)

    return run


def _scalar(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Return the function with its results as arrays: NumPy returns numbers where the rank is 0."""
    asarray = np.asarray

    def run(*values: np.ndarray) -> np.ndarray:
        return asarray(function(*values))

    return run
