"""The device that programs run on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from treadle.config import OptionValueError, config


def device() -> torch.device:
    """Return the device named by the option ``torch__device``."""
    name = config.torch__device
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        msg = (
            f"option torch__device: {name!r} cannot be used ({str(error).splitlines()[0]}). "
            "Give the name of a device that PyTorch finds here, such as cpu or cuda:0."
        )
        raise OptionValueError(msg) from error


def counted_memory(place: torch.device) -> Callable[[], int] | None:
    """Begin to count a device's memory anew; return what reads its peak in bytes, None where PyTorch counts none.

    PyTorch counts for the whole process, so that its own ``max_memory_allocated`` begins anew as well.
    """
    if place.type == "cpu":
        return None
    try:
        torch.accelerator.reset_peak_memory_stats(place)
    except (RuntimeError, NotImplementedError, ValueError):
        # Another kind of device, or one whose allocator keeps no statistics.
        return None
    return partial(torch.accelerator.max_memory_allocated, place)
