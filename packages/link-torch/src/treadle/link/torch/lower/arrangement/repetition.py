"""RepeatedPositions."""

from __future__ import annotations

import torch

from treadle.link.torch.device import DEVICES
from treadle.link.torch.table import TORCH, Lowered
from treadle.tensor import RepeatedPositions, TensorNode


@TORCH.register(RepeatedPositions)
def repeated_positions(op: RepeatedPositions, node: TensorNode) -> Lowered:
    """Lower to torch.repeat_interleave; the numbers, which decide the length, are known while tracing."""
    place = DEVICES.chosen()

    def run(counts: tuple[int, ...], n: int) -> torch.Tensor:
        each = counts * n if len(counts) == 1 else counts
        if len(each) != n or any(k < 0 for k in each):
            msg = "the numbers of repetitions do not fit"
            raise ValueError(msg)
        repeats = torch.tensor(each, dtype=torch.int64, device=place)
        return torch.repeat_interleave(torch.arange(n, device=place), repeats, output_size=sum(each))

    return run
