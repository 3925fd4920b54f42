"""The device that programs run on."""

from __future__ import annotations

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
