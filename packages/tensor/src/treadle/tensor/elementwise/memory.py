"""Results of NumPy's functions in memory of their own, or in memory that is there already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.tensor.elementwise.composite import Composite

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.variables.variable import TensorNode


def owned(result: np.ndarray, inputs: Sequence[np.ndarray]) -> np.ndarray:
    """Return the result, copied if it is an input's memory."""
    if not result.flags.owndata or not result.flags.writeable or any(result is x for x in inputs):
        return np.array(result)
    return result


def filling(op: Elemwise, node: TensorNode) -> Callable[[Any, Sequence[np.ndarray]], bool] | None:
    """Return what computes a node into an array if it fits, None where NumPy does not do so; of scalars no use."""
    scalar, out = op.scalar_op, node.outputs[0].type
    if isinstance(scalar, Composite) or scalar.ufunc is None or scalar.name == "identity" or op.inplace or not out.ndim:
        return None
    if any(x.type.numpy_dtype != d for x, d in zip(node.inputs, op.loop_dtypes(node), strict=True)):
        return None
    function: Any = scalar.impl

    def fill(into: Any, values: Sequence[np.ndarray]) -> bool:
        shape = into.shape
        if any(x.shape != shape for x in values):
            try:
                fits = np.broadcast_shapes(*(x.shape for x in values)) == shape
            except ValueError:  # which the function itself explains
                fits = False
            if not fits:
                return False
        function(*values, out=into)
        return True

    return fill
