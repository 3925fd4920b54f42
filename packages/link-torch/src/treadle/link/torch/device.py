"""The device that programs run on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from treadle.config import OptionValueError, config


def device() -> torch.device:
    """Return the device named by the option ``torch__device``."""
    found = _look_up(config.torch__device)
    if isinstance(found, str):
        msg = f"option torch__device: {found}"
        raise OptionValueError(msg)
    return found


def device_problem(name: str) -> str | None:
    """Return why a device cannot be used, and which devices there are; None if it can."""
    found = _look_up(name)
    return found if isinstance(found, str) else None


def _look_up(name: str) -> torch.device | str:
    """Return the device, or what is wrong with its name."""
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
    other = torch.accelerator.current_accelerator()
    here = [f"{other.type}:{i}" for i in range(torch.accelerator.device_count())] if other is not None else []
    found = ", ".join(["cpu", *here])
    return f"{name!r} cannot be used ({reason}). Give the name of a device that PyTorch finds here: {found}."


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
