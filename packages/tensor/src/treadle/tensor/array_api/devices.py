"""The one device of symbolic tensors: the backend of a function's mode decides where it computes."""

from __future__ import annotations

from treadle.config import text_of
from treadle.tensor.errors import ArgumentError

CPU = "cpu"


def check_device(what: str, device: object) -> None:
    """Refuse another device than ``"cpu"`` or None, which means the same."""
    if device is not None and device != CPU:
        msg = f"{what}: the only device is {CPU!r}, got {text_of(device)}. Choose it by the function's mode."
        raise ArgumentError(msg)
