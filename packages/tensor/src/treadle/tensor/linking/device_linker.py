"""DeviceLinker: a linker of tensors whose programs may leave results on a device."""

from __future__ import annotations

from typing import ClassVar, Self

from treadle.config import config
from treadle.graph import as_flag
from treadle.tensor.linking.portable_linker import PortableLinker

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

    Attributes
    ----------
    device_option
        The option's name.
    """

    device_option: ClassVar[str]

    def __init__(self, *, allow_gc: bool | None = None, device_outputs: bool | None = None) -> None:
        super().__init__(allow_gc=allow_gc)
        self._device_outputs = self._flag(device_outputs)

    def _flag(self, value: bool | None) -> bool | None:
        return None if value is None else as_flag(f"{type(self).__name__}: device_outputs", value)

    @property
    def device_outputs(self) -> bool:  # type: ignore[override]  # nobody sets it
        """Whether functions return arrays of the library."""
        return bool(getattr(config, self.device_option) if self._device_outputs is None else self._device_outputs)

    def clone(self, allow_gc: bool | None = None, device_outputs: bool | None = None) -> Self:
        """Return a linker of this kind; what is None is as in this one."""
        new = super().clone(allow_gc)
        if device_outputs is not None:
            new._device_outputs = self._flag(device_outputs)
        return new
