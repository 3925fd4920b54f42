"""Comparisons."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from treadle.link.torch.lower.elementwise.scalar.arithmetic import unsigned_less
from treadle.link.torch.programs.storage import kind
from treadle.link.torch.scalars import SCALARS, ByDtypes, TensorFunction


def _unsigned_below_signed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a >= 0) & (b >= 0) & (a < b)


def _less(loops: Sequence[str]) -> TensorFunction:
    """Return a < b. NumPy compares int64 and uint64 by value: those are two kinds of bits."""
    first, second = (kind(d) for d in loops)
    if first == second == "u":
        return unsigned_less
    if second == "u":
        return lambda a, b: (a < 0) | (b < 0) | (a < b)
    plain: TensorFunction = torch.lt
    return _unsigned_below_signed if first == "u" else plain


def _equal(loops: Sequence[str]) -> TensorFunction:
    kinds = [kind(d) for d in loops]
    if kinds[0] == kinds[1]:
        plain: TensorFunction = torch.eq
        return plain
    signed = kinds.index("i")

    def equal(*operands: torch.Tensor) -> torch.Tensor:
        return (operands[0] == operands[1]) & (operands[signed] >= 0)

    return equal


def _unequal(loops: Sequence[str]) -> TensorFunction:
    """Return the opposite of equality, which holds for NaN."""
    if kind(loops[0]) == kind(loops[1]):
        plain: TensorFunction = torch.ne
        return plain
    equal = _equal(loops)
    return lambda a, b: torch.logical_not(equal(a, b))


def _greater(loops: Sequence[str]) -> TensorFunction:
    if "u" not in {kind(d) for d in loops}:
        plain: TensorFunction = torch.gt
        return plain
    less = _less(loops[::-1])
    return lambda a, b: less(b, a)


def _less_or_equal(loops: Sequence[str]) -> TensorFunction:
    """Return a <= b: for floats not the opposite of greater, because of NaN."""
    if "u" not in {kind(d) for d in loops}:
        plain: TensorFunction = torch.le
        return plain
    greater = _greater(loops)
    return lambda a, b: torch.logical_not(greater(a, b))


def _greater_or_equal(loops: Sequence[str]) -> TensorFunction:
    if "u" not in {kind(d) for d in loops}:
        plain: TensorFunction = torch.ge
        return plain
    less_or_equal = _less_or_equal(loops[::-1])
    return lambda a, b: less_or_equal(b, a)


SCALARS.register("eq", {"biufc": ByDtypes(_equal)})
SCALARS.register("neq", {"biufc": ByDtypes(_unequal)})
SCALARS.register("lt", {"biuf": ByDtypes(_less)})
SCALARS.register("gt", {"biuf": ByDtypes(_greater)})
SCALARS.register("le", {"biuf": ByDtypes(_less_or_equal)})
SCALARS.register("ge", {"biuf": ByDtypes(_greater_or_equal)})
SCALARS.register("isnan", {"f": torch.isnan})
SCALARS.register("isposinf", {"f": torch.isposinf})
SCALARS.register("isneginf", {"f": torch.isneginf})
