"""Ranges."""

from __future__ import annotations

import numpy as np

from treadle.link.array_api.libraries import library
from treadle.link.array_api.table import ARRAY_API, Array, Lowered
from treadle.tensor import ARange, TensorNode, range_length


@ARRAY_API.register(ARange)
def arange(op: ARange, node: TensorNode) -> Lowered:
    """Lower to arange for integers; other numbers are made by NumPy, whose rounding is its own."""
    lib, dtype = library(), op.dtype
    integers = all(v.type.numpy_dtype.kind in "iub" for v in node.inputs) and np.dtype(dtype).kind in "iu"

    def run(*bounds: Array) -> Array:
        start, stop, step = (lib.to_host(x) for x in bounds)
        count = range_length(start, stop, step)
        if not integers:
            return lib.asarray(np.arange(start.item(), stop.item(), step.item(), dtype=dtype))
        first, distance = int(start), int(step)
        whole = lib.xp.arange(first, first + count * distance, distance, dtype=lib.xp.int64, device=lib.device)
        return lib.astype(whole, dtype)

    return run
