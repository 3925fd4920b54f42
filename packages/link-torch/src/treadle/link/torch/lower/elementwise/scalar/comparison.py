"""Comparisons."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from treadle.link.torch.lower.elementwise.scalar.arithmetic import unsigned_less
from treadle.link.torch.programs.storage import kind
from treadle.link.torch.scalars import SCALARS, ByDtypes, TensorFunction


def _signed_below_unsigned(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a < 0) | (b < 0) | (a < b)


def _unsigned_below_signed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a >= 0) & (b >= 0) & (a < b)


def _less(loops: Sequence[str]) -> TensorFunction:
    """Return a < b. NumPy compares int64 and uint64 by value: those are two kinds of bits."""
    first, second = (kind(d) for d in loops)
    if first == second == "u":
        return unsigned_less
    if second == "u":
        return _signed_below_unsigned
    return _unsigned_below_signed if first == "u" else (lambda a, b: a < b)


def _equal(loops: Sequence[str]) -> TensorFunction:
    kinds = [kind(d) for d in loops]
    if kinds[0] == kinds[1]:
        return lambda a, b: a == b
    signed = kinds.index("i")

    def equal(*operands: torch.Tensor) -> torch.Tensor:
        return (operands[0] == operands[1]) & (operands[signed] >= 0)

    return equal


@SCALARS.function("eq", kinds="biufc")
@ByDtypes
def eq(loops: Sequence[str]) -> TensorFunction:
    """Equality."""
    return _equal(loops)


@SCALARS.function("neq", kinds="biufc")
@ByDtypes
def neq(loops: Sequence[str]) -> TensorFunction:
    """The opposite of equality, which holds for NaN."""
    equal = _equal(loops)
    return lambda a, b: torch.logical_not(equal(a, b))


@SCALARS.function("lt", kinds="biuf")
@ByDtypes
def lt(loops: Sequence[str]) -> TensorFunction:
    """Less."""
    return _less(loops)


@SCALARS.function("gt", kinds="biuf")
@ByDtypes
def gt(loops: Sequence[str]) -> TensorFunction:
    """Greater: less with the operands exchanged."""
    less = _less(loops[::-1])
    return lambda a, b: less(b, a)


@SCALARS.function("le", kinds="biuf")
@ByDtypes
def le(loops: Sequence[str]) -> TensorFunction:
    """Less or equal: for floats not the opposite of greater, because of NaN."""
    if kind(loops[-1]) == "f":
        return lambda a, b: a <= b
    less = _less(loops[::-1])
    return lambda a, b: torch.logical_not(less(b, a))


@SCALARS.function("ge", kinds="biuf")
@ByDtypes
def ge(loops: Sequence[str]) -> TensorFunction:
    """Greater or equal."""
    if kind(loops[-1]) == "f":
        return lambda a, b: a >= b
    less = _less(loops)
    return lambda a, b: torch.logical_not(less(a, b))
