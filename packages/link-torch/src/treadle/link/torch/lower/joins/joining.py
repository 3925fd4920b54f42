"""Ranges."""

from __future__ import annotations

import numpy as np
import torch

from treadle.link.torch.device import DEVICES
from treadle.link.torch.numbers import is_of_integers
from treadle.link.torch.programs.storage import converter, from_host
from treadle.link.torch.table import TORCH, Lowered
from treadle.tensor import ARange, TensorNode, range_length


@TORCH.register(ARange)
def arange(op: ARange, node: TensorNode) -> Lowered:
    """Lower to a range of integers; one of other numbers, whose bounds were read, is made by NumPy, as elsewhere."""
    conversion = converter("int64", op.dtype)
    place = DEVICES.chosen()
    if not is_of_integers(node):
        dtypes = [x.type.numpy_dtype.type for x in node.inputs]

        def measured(*bounds: float) -> torch.Tensor:
            # NumPy takes integers without a dtype.
            numbers = [b if isinstance(b, int) else dtype(b) for b, dtype in zip(bounds, dtypes, strict=True)]
            range_length(*numbers)
            return from_host(np.arange(*numbers, dtype=op.dtype), op.dtype).to(place)

        return measured

    def run(start: int, stop: int, step: int) -> torch.Tensor:
        if step == 0:
            msg = "the step of a range must not be 0"
            raise ValueError(msg)
        distance, stride = (stop - start, step) if step > 0 else (start - stop, -step)
        count = (distance + stride - 1) // stride if distance > 0 else 0
        numbers = torch.arange(count, dtype=torch.int64, device=place)
        # Symbolic bounds are not looked at: code is compiled for all of them.
        if type(step) is not int or step != 1:
            numbers = numbers * step
        if type(start) is not int or start != 0:
            numbers = numbers + start
        return conversion(numbers)

    return run
