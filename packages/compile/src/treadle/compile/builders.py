"""The documented home of `OpFromGraph`, which the distribution ``tensor`` brings."""

from __future__ import annotations

from typing import Any

from treadle.compile.plugins import found_name

_NAMES = frozenset({"OpFromGraph"})


def __getattr__(name: str) -> Any:
    """Return what an installed distribution brings."""
    return found_name(__name__, name, _NAMES)
