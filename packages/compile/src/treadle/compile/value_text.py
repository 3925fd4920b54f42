"""Values as text, with their dtype and shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.config import text_of

if TYPE_CHECKING:
    from treadle.graph import Value


def value_text(value: Value) -> str:
    """Return a value as text, with dtype and shape, cut where it is long."""
    shape = getattr(value, "shape", None)
    text = text_of(value, str)
    return text if shape is None else f"{text} ({getattr(value, 'dtype', '?')} of shape {tuple(shape)})"
