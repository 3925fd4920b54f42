"""Bitwise functions and shifts, which move everything out by the width or more, and by a negative number."""

from __future__ import annotations

from typing import Any

from treadle.link.array_api.lower.elementwise.scalar.complex_numbers import functions_of
from treadle.link.array_api.table import SCALARS, named

for _name in ("and", "or", "xor", "invert"):
    SCALARS.register(_name, {"biu": named(f"bitwise_{_name}")})


@SCALARS.function("left_shift", kinds="iu")
def left_shift(xp: Any) -> Any:
    """Shift to the left."""
    return lambda a, b: functions_of(xp).left_shift(xp.iinfo(a.dtype).bits)(a, b)


@SCALARS.function("right_shift", kinds="i")
def right_shift(xp: Any) -> Any:
    """Shift to the right, keeping the sign."""
    return lambda a, b: functions_of(xp).right_shift(xp.iinfo(a.dtype).bits, signed=True)(a, b)


@SCALARS.function("right_shift", kinds="u")
def unsigned_right_shift(xp: Any) -> Any:
    """Shift to the right, zeros coming in."""
    return lambda a, b: functions_of(xp).right_shift(xp.iinfo(a.dtype).bits, signed=False)(a, b)
