"""Elementwise functions on the VM: NumPy's own functions, called directly where dtypes allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.link.vm import TABLE
from treadle.tensor.elementwise.composite import Composite
from treadle.tensor.elementwise.elemwise import Elemwise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from treadle.tensor.variables.variable import TensorNode

# From this number of elements on, new memory costs more than checking whether an operand's can be used.
LARGE = 4096


@TABLE.register(Elemwise)
def lower(op: Elemwise, node: TensorNode) -> Callable[..., np.ndarray] | None:
    """Return the NumPy function itself where nothing is to be converted, else None or a wrapper."""
    scalar = op.scalar_op
    if isinstance(scalar, Composite):
        return None
    out = node.outputs[0].type
    if scalar.ufunc is None or scalar.name == "identity":
        return None
    loops = op.loop_dtypes(node)
    others = {i: d for i, (v, d) in enumerate(zip(node.inputs, loops, strict=True)) if v.type.numpy_dtype != d}
    if others:
        return _converting(scalar.impl, others, out.numpy_dtype)
    if out.ndim > 0:
        function: Callable[..., np.ndarray] = scalar.impl
        return _over(function, op.inplace[0][1]) if op.inplace else function
    return _scalar(scalar.impl)


def _over(function: Callable[..., np.ndarray], at: int) -> Callable[..., np.ndarray]:
    """Return the function; it writes the result over a large operand that all others match in shape."""

    def run(*values: np.ndarray) -> np.ndarray:
        target = values[at]
        if target.size < LARGE or not target.flags.writeable or any(x.shape != target.shape for x in values):
            return function(*values)
        return function(*values, out=target)

    return run


def _converting(
    function: Callable[..., np.ndarray], dtypes: Mapping[int, np.dtype[Any]], out: np.dtype[Any]
) -> Callable[..., np.ndarray]:
    """Return the function with some operands converted first."""
    asarray = np.asarray

    def run(*values: np.ndarray) -> np.ndarray:
        operands = list(values)
        for i, dtype in dtypes.items():
            operands[i] = operands[i].astype(dtype)
        return asarray(function(*operands), out)

    return run


def _scalar(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Return the function with its results as arrays: NumPy returns numbers where the rank is 0."""
    asarray = np.asarray

    def run(*values: np.ndarray) -> np.ndarray:
        return asarray(function(*values))

    return run
