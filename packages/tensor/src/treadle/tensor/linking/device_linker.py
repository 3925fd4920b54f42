"""DeviceLinker: a linker of tensors whose programs run on a device, and may leave results there."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Self

from treadle.config import config
from treadle.graph import GraphTypeError, GraphValueError, as_flag
from treadle.tensor.linking.portable_linker import PortableLinker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from treadle.graph import FunctionGraph
    from treadle.link.vm import Program, ProgramGraph
    from treadle.tensor.linking.devices import Devices

__all__ = ["DeviceLinker"]


class DeviceLinker(PortableLinker):
    """Links graphs of tensors to programs that can return results as arrays of a library, where they were computed.

    Parameters
    ----------
    allow_gc
        As for every linker.
    device_outputs
        Whether functions return all outputs in that form, or as NumPy arrays but for those in ``Out(borrow=True)``. If
        None, the option decides that `device_option` names. A mode sets it by
        ``mode.clone(link_kwargs={"device_outputs": True})``.
    device
        The name of the device that programs run on, as the option of `devices` takes it, which decides if this is
        None. A mode sets it by ``mode.clone(link_kwargs={"device": "gpu:1"})``.

    Attributes
    ----------
    device_option
        The name of the option for `device_outputs`.
    devices
        The library's devices.
    """

    device_option: ClassVar[str]
    devices: ClassVar[Devices[Any]]

    def __init__(
        self, *, allow_gc: bool | None = None, device_outputs: bool | None = None, device: str | None = None
    ) -> None:
        super().__init__(allow_gc=allow_gc)
        self._device_outputs = self._flag(device_outputs)
        self._device = self._name(device)

    def _flag(self, value: bool | None) -> bool | None:
        return None if value is None else as_flag(f"{type(self).__name__}: device_outputs", value)

    def _name(self, value: object) -> str | None:
        if value is None or isinstance(value, str):
            return value
        msg = f"{type(self).__name__}: device must be the name of a device, got {value!r}. Give a string such as 'cpu'."
        raise GraphTypeError(msg)

    @property
    def device_outputs(self) -> bool:  # type: ignore[override]  # nobody sets it
        """Whether functions return arrays of the library."""
        return bool(getattr(config, self.device_option) if self._device_outputs is None else self._device_outputs)

    @property
    def device(self) -> str:
        """The name of the device that programs run on."""
        return str(getattr(config, self.devices.option) if self._device is None else self._device)

    def clone(
        self, allow_gc: bool | None = None, device_outputs: bool | None = None, device: str | None = None
    ) -> Self:
        """Return a linker of this kind; what is None is as in this one."""
        new = super().clone(allow_gc)
        if device_outputs is not None:
            new._device_outputs = self._flag(device_outputs)
        if device is not None:
            new._device = self._name(device)
        return new

    def on_devices(self, named: Sequence[tuple[str, str]]) -> Self:
        """Return the linker for a function whose shared variables name devices, which go before the option.

        Raises
        ------
        GraphValueError
            If they are not one device, or not that of the linker, or if the library finds no such device.
        """
        places = [*named, *([("the mode", self._device)] if self._device else [])]
        if len({_numbered(str(name)) for _, name in places}) > 1:
            said = ", ".join(f"{name} for {what}" for what, name in places)
            msg = f"{type(self).__name__}: a function runs on one device, got {said}. Name the same device for all, or "
            raise GraphValueError(msg + "none (`shared(device=)`, `container.device`, and the mode's link_kwargs).")
        if not named or self._device:
            return self
        what, name = named[0]
        problem = self.devices.problem(name)
        if problem is not None:
            msg = f"shared variable {what}: its device {problem}"
            raise GraphValueError(msg)
        return self.clone(device=name)

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph, on the linker's device."""
        with self.placed():
            return super().link(fgraph, native_outputs)

    def dump(self, program: Program) -> Any:
        """Return what is kept of a program; a linker with a `link` of its own says how for itself."""
        return super().dump(program)

    def load(self, data: Any, graph: ProgramGraph) -> Program:
        """Return the program that was kept, on the linker's device."""
        with self.placed():
            return super().load(data, graph)

    def placed(self) -> AbstractContextManager[object]:
        """Return a context in which the option names the linker's device, as in `link` and `load`: rules may ask it.

        Raises
        ------
        GraphValueError
            If the library finds no device of the name that the mode has given.
        """
        if self._device is None:
            return nullcontext()
        problem = self.devices.problem(self._device)
        if problem is not None:
            msg = f"{type(self).__name__}: the device of the mode's link_kwargs, {problem}"
            raise GraphValueError(msg)
        return config.change_flags(**{self.devices.option: self._device})


def _numbered(name: str) -> str:
    """Return a device's name with its number, which is 0 where none is given."""
    return name if ":" in name else f"{name}:0"
