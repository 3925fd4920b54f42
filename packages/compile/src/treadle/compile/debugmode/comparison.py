"""Comparing values of any type; where a type cannot tell whether values are equal, they count as equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Type, Value


def is_same(kind: Type, before: Value, after: Value) -> bool:
    """Whether a value is unchanged."""
    return _judged(kind, before, lambda: kind.values_eq(before, after))


def is_close(kind: Type, a: Value, b: Value, scale: float = 0.0, where_finite: bool = False) -> bool:
    """Whether two values are the same up to rounding (see `Type.agree`)."""
    return _judged(kind, a, lambda: kind.agree(a, b, scale, where_finite))


def _judged(kind: Type, value: Value, equal: Callable[[], bool]) -> bool:
    """Return what a comparison says, True where the type does not even find a copy equal to its original."""
    try:
        return equal() or not kind.values_eq(value, kind.copy_value(value))
    except Exception:  # noqa: BLE001 - the comparison of a user's type may raise anything
        return True
