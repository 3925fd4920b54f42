"""The device that programs run on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding

from treadle.tensor import Devices


class JaxDevices(Devices["jax.Device | None"]):
    """JAX's devices, such as ``cpu:1`` or ``gpu``; the empty name leaves the choice to JAX."""

    library = "JAX"
    errors = (RuntimeError, ValueError)

    def look_up(self, name: str) -> jax.Device | None:
        """Return the device, None for JAX's own choice."""
        if not name:
            return None
        platform, _, number = name.partition(":")
        devices = jax.devices(platform)
        at = int(number or 0)
        if not 0 <= at < len(devices):
            msg = f"JAX finds {len(devices)} of {platform}, numbered from 0"
            raise ValueError(msg)
        return devices[at]

    def names(self) -> Sequence[str]:
        """Return a name of each device of the default platform."""
        return [f"{d.platform}:{i}" for i, d in enumerate(jax.devices())]


DEVICES = JaxDevices("jax__device")


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


def with_automatic_axes(value: Any) -> Any:
    """Return an array that lies over a mesh, with the mesh's axes left to the compiler; any other value as it is.

    Along axes that are ``Explicit``, as those of `jax.make_mesh` are by default, JAX asks each operation where its
    result is to lie, which a graph does not know.
    """
    place = value.sharding if isinstance(value, jax.Array) else None
    if not isinstance(place, NamedSharding) or AxisType.Explicit not in place.mesh.axis_types:
        return value
    mesh: Any = place.mesh
    automatic = Mesh(mesh.devices, mesh.axis_names, axis_types=_automatic(mesh.axis_types))
    return jax.device_put(value, NamedSharding(automatic, place.spec, memory_kind=place.memory_kind))


def automatic_axes() -> AbstractContextManager[object]:
    """Return a context in which the axes of the mesh that the user has set are left to the compiler, too."""
    mesh: Any = jax.sharding.get_abstract_mesh()
    if AxisType.Explicit not in mesh.axis_types:
        return nullcontext()
    return jax.sharding.use_abstract_mesh(mesh.update(axis_types=_automatic(mesh.axis_types)))


def _automatic(kinds: Sequence[AxisType]) -> tuple[AxisType, ...]:
    return tuple(AxisType.Auto if kind is AxisType.Explicit else kind for kind in kinds)
