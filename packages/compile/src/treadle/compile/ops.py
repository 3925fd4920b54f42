"""The documented home of copies, views, and ops made of Python functions, which the distribution ``tensor`` brings."""

from __future__ import annotations

from typing import Any

from treadle.compile.plugins import found_name
from treadle.graph import DeepCopyOp, ViewOp, deep_copy_op, view_op

__all__ = ["DeepCopyOp", "ViewOp", "deep_copy_op", "view_op"]
_NAMES = frozenset({"FromFunctionOp", "as_op", "wrap_py"})


def __getattr__(name: str) -> Any:
    """Return what an installed distribution brings."""
    return found_name(__name__, name, _NAMES)
