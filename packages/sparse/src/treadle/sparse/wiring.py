"""Where the functions that modules ask of modules above them are (see `treadle.sparse.upward`)."""

from __future__ import annotations

import sys
from typing import Any

from treadle.sparse.upward import upward


def _function(name: str) -> Any:
    return getattr(sys.modules["treadle.sparse"], name)


def wire() -> None:
    """Say where each function is."""
    upward.function = _function
