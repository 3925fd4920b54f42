"""Values as text, with their dtype and shape."""

from __future__ import annotations

from typing import Any

from treadle.config import text_of


def value_text(value: Any) -> str:
    """Return a value as text, with dtype and shape, cut where it is long."""
    shape = getattr(value, "shape", None)
    text = text_of(value, str)
    return text if shape is None else f"{text} ({getattr(value, 'dtype', '?')} of shape {tuple(shape)})"
