"""The device that programs run on."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from treadle.config import OptionValueError


def find_device(name: str) -> jax.Device | None:
    """Return the device that option ``jax__device`` names, such as ``cpu:1`` or ``gpu``; None where it is empty.

    Raises
    ------
    OptionValueError
        If JAX finds no such device.
    """
    found = _look_up(name)
    if isinstance(found, str):
        msg = f"option jax__device: {found}"
        raise OptionValueError(msg)
    return found


def device_problem(name: str) -> str | None:
    """Return why a device cannot be used, and which devices there are; None if it can."""
    found = _look_up(name)
    return found if isinstance(found, str) else None


def _look_up(name: str) -> jax.Device | str | None:
    """Return the device, None for JAX's own choice; or what is wrong with the name."""
    if not name:
        return None
    platform, _, number = name.partition(":")
    try:
        devices = jax.devices(platform)
        at = int(number or 0)
        if 0 <= at < len(devices):
            return devices[at]
        reason = f"JAX finds {len(devices)} of {platform}, numbered from 0"
    except (RuntimeError, ValueError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    found = ", ".join(f"{d.platform}:{i}" for i, d in enumerate(jax.devices()))
    return f"{name!r} cannot be used ({reason}). Give the name of a device that JAX finds here: {found}."


def default_device() -> jax.Device:
    """Return the device that JAX runs on where nobody says anything else."""
    chosen: Any = jax.config.jax_default_device  # type: ignore[attr-defined]  # defined when JAX is imported
    return chosen if isinstance(chosen, jax.Device) else jax.devices(chosen)[0]


def on_device(value: np.ndarray, device: jax.Device | None = None) -> jax.Array:
    """Return a NumPy array as one of JAX's with memory of its own, which later changes of the array do not reach."""
    with jax.enable_x64(True):
        # JAX takes memory over where it can (tried: whatever may_alias says), so that it is given a copy.
        array: jax.Array = jax.device_put(np.array(value, order="C"), device)
        return array
