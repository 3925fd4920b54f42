"""The package's public functions, which modules of this room call by name when they are called themselves."""

from __future__ import annotations

from typing import Any

from treadle.tensor.upward import upward


class _Public:
    """What `treadle.tensor` offers, as attributes; a module of a room cannot import it, as it imports the rooms."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return upward.function(name)


tt: Any = _Public()
