"""Kernels that kernels of many families call."""

from __future__ import annotations

from typing import TypeVar

from treadle.kernels.definition import kernel
from treadle.kernels.language import OK, Number, Pointer, convert, independent

T = TypeVar("T", bound=Number)


@kernel(inline=True)
def cleared(o: Pointer[T], count: int) -> int:
    """Set elements to 0."""
    for i in independent(range(count)):
        o[i] = convert(T, 0)
    return OK


@kernel(inline=True)
def copied(x: Pointer[T], o: Pointer[T], count: int) -> int:
    """Copy elements."""
    for i in independent(range(count)):
        o[i] = x[i]
    return OK
