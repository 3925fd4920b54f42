"""The documented home of ops made of graphs, which the distribution ``tensor`` brings."""

from __future__ import annotations

from typing import Any

from treadle.compile.plugins import found_name

_NAMES = frozenset({"OpFromGraph", "SymbolicOp", "construct_nominal_fgraph", "infer_shape"})


def __getattr__(name: str) -> Any:
    """Return what an installed distribution brings."""
    return found_name(__name__, name, _NAMES)
