"""The package's public functions, which modules of this room call by name when they are called themselves."""

from __future__ import annotations

from typing import Any

from treadle.config import lazy_module

# What `treadle.tensor` offers; a module of a room cannot import it, as it imports the rooms.
tt: Any = lazy_module("treadle.tensor")
