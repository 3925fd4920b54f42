"""The device that programs run on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch

from treadle.tensor import Devices


class TorchDevices(Devices[torch.device]):
    """PyTorch's devices, such as ``cpu`` or ``cuda:0``."""

    library = "PyTorch"
    errors = (RuntimeError, AssertionError)

    def look_up(self, name: str) -> torch.device:
        """Return the device: one that can hold a tensor."""
        return torch.empty(0, device=name).device

    def names(self) -> Sequence[str]:
        """Return the names of the CPU and of the accelerators."""
        other = torch.accelerator.current_accelerator()
        if other is None:
            return ["cpu"]
        return ["cpu", *(f"{other.type}:{i}" for i in range(torch.accelerator.device_count()))]


DEVICES = TorchDevices("torch__device")


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
