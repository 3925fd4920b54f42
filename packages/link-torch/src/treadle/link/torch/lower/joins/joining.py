"""Ranges."""

from __future__ import annotations

import torch

from treadle.link.torch.device import DEVICES
from treadle.link.torch.programs.storage import converter
from treadle.link.torch.table import TORCH, Lowered
from treadle.tensor import ARange, TensorNode


@TORCH.register(ARange)
def arange(op: ARange, node: TensorNode) -> Lowered:
    """Lower to a range of integers. One with a fraction in it is computed before the program (see `planning`)."""
    conversion = converter("int64", op.dtype)
    place = DEVICES.chosen()

    def run(start: int, stop: int, step: int) -> torch.Tensor:
        if step == 0:
            msg = "the step of a range must not be 0"
            raise ValueError(msg)
        distance, stride = (stop - start, step) if step > 0 else (start - stop, -step)
        count = (distance + stride - 1) // stride if distance > 0 else 0
        return conversion(torch.arange(count, dtype=torch.int64, device=place) * step + start)

    return run
