"""Join, and ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from treadle.link.torch.device import device
from treadle.link.torch.storage import converted, converter
from treadle.link.torch.table import TORCH
from treadle.tensor import ARange, Join

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply


@TORCH.register(Join)
def join(op: Join, node: Apply) -> Callable[..., Any]:
    """Lower to torch.cat."""
    out: Any = node.outputs[0].type
    kinds: list[Any] = [x.type for x in node.inputs]
    conversions = [converter(t.dtype, out.dtype) for t in kinds]
    axis = op.axis
    return lambda *xs: torch.cat([converted(x, c) for x, c in zip(xs, conversions, strict=True)], dim=axis)


@TORCH.register(ARange)
def arange(op: ARange, node: Apply) -> Callable[..., Any]:
    """Lower to a range of integers. One with a fraction in it is computed before the program (see `planning`)."""
    del node
    conversion = converter("int64", op.dtype)
    place = device()

    def run(start: Any, stop: Any, step: Any) -> Any:
        if step == 0:
            msg = "the step of a range must not be 0"
            raise ValueError(msg)
        distance, stride = (stop - start, step) if step > 0 else (start - stop, -step)
        count = (distance + stride - 1) // stride if distance > 0 else 0
        return converted(torch.arange(count, dtype=torch.int64, device=place) * step + start, conversion)

    return run
