"""Comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from treadle.link.torch.scalars import SCALARS, ByDtypes
from treadle.link.torch.storage import SIGN_BIT, kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Comparison = Callable[[Any, Any], Any]


def _whole(function: Any) -> Comparison:
    """Return a function of PyTorch's, which has no types, as a comparison."""
    found: Comparison = function
    return found


def _below(a: Any, b: Any) -> Any:
    return torch.bitwise_xor(a, SIGN_BIT) < torch.bitwise_xor(b, SIGN_BIT)


def _signed_below_unsigned(a: Any, b: Any) -> Any:
    return (a < 0) | (b < 0) | (a < b)


def _unsigned_below_signed(a: Any, b: Any) -> Any:
    return (a >= 0) & (b >= 0) & (a < b)


def _less(loops: Sequence[str]) -> Callable[..., Any]:
    """Return a < b. NumPy compares int64 and uint64 by value: those are two kinds of bits."""
    first, second = (kind(d) for d in loops)
    if first == second == "u":
        return _below
    if second == "u":
        return _signed_below_unsigned
    return _unsigned_below_signed if first == "u" else torch.lt


def _equal(loops: Sequence[str]) -> Callable[..., Any]:
    kinds = [kind(d) for d in loops]
    if kinds[0] == kinds[1]:
        return _whole(torch.eq)
    signed = kinds.index("i")

    def equal(*operands: Any) -> Any:
        return (operands[0] == operands[1]) & (operands[signed] >= 0)

    return equal


@SCALARS.function("eq", kinds="biufc")
@ByDtypes
def eq(loops: Sequence[str]) -> Callable[..., Any]:
    """Equality."""
    return _equal(loops)


@SCALARS.function("neq", kinds="biufc")
@ByDtypes
def neq(loops: Sequence[str]) -> Callable[..., Any]:
    """The opposite of equality, which holds for NaN."""
    equal = _equal(loops)
    return lambda a, b: torch.logical_not(equal(a, b))


@SCALARS.function("lt", kinds="biuf")
@ByDtypes
def lt(loops: Sequence[str]) -> Callable[..., Any]:
    """Less."""
    return _less(loops)


@SCALARS.function("gt", kinds="biuf")
@ByDtypes
def gt(loops: Sequence[str]) -> Callable[..., Any]:
    """Greater: less with the operands exchanged."""
    less = _less(loops[::-1])
    return lambda a, b: less(b, a)


@SCALARS.function("le", kinds="biuf")
@ByDtypes
def le(loops: Sequence[str]) -> Callable[..., Any]:
    """Less or equal: for floats not the opposite of greater, because of NaN."""
    if kind(loops[-1]) == "f":
        return _whole(torch.le)
    less = _less(loops[::-1])
    return lambda a, b: torch.logical_not(less(b, a))


@SCALARS.function("ge", kinds="biuf")
@ByDtypes
def ge(loops: Sequence[str]) -> Callable[..., Any]:
    """Greater or equal."""
    if kind(loops[-1]) == "f":
        return _whole(torch.ge)
    less = _less(loops)
    return lambda a, b: torch.logical_not(less(a, b))
