"""Comparisons. NumPy compares int64 with uint64 by value, which the standard does not define."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle.link.array_api.table import SCALARS, Array

Comparison = Callable[[Any], Callable[[Array, Array], Array]]


def _comparison(name: str, standard: str, mirror: str, when_negative: bool) -> Comparison:
    """Return a comparison of numbers; `when_negative` is what it says of a negative number and an unsigned one."""

    def of(xp: Any) -> Callable[[Array, Array], Array]:
        function, mirrored = getattr(xp, standard), getattr(xp, mirror)

        def compare(x: Array, y: Array) -> Array:
            if x.dtype == y.dtype:
                return function(x, y)
            if xp.isdtype(x.dtype, "signed integer"):
                outside, same = x < 0, function(xp.astype(x, y.dtype), y)
                return outside | same if when_negative else ~outside & same
            outside, same = y < 0, mirrored(xp.astype(y, x.dtype), x)
            is_true = not when_negative if standard != mirror else when_negative
            return outside | same if is_true else ~outside & same

        return compare

    return of


def _of_truth(compare: Comparison) -> Comparison:
    """Return a comparison of truth values, which the standard does not order."""

    def of(xp: Any) -> Callable[[Array, Array], Array]:
        function = compare(xp)
        return lambda x, y: function(xp.astype(x, xp.uint8), xp.astype(y, xp.uint8))

    return of


for _name, _standard, _mirror, _of_negative in (
    ("eq", "equal", "equal", False), ("neq", "not_equal", "not_equal", True),
    ("lt", "less", "greater", True), ("le", "less_equal", "greater_equal", True),
    ("gt", "greater", "less", False), ("ge", "greater_equal", "less_equal", False),
):  # fmt: skip
    _entry = _comparison(_name, _standard, _mirror, _of_negative)
    if _name in {"eq", "neq"}:
        SCALARS.register(_name, {"iufc": _entry, "b": _entry})
    else:
        # The standard orders real numbers only.
        SCALARS.register(_name, {"iuf": _entry, "b": _of_truth(_entry)})
