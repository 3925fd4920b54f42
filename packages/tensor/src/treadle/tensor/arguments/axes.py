"""Axis arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import text_of
from treadle.graph import Constant
from treadle.tensor.arguments.values import known_integer
from treadle.tensor.errors import AxisError

if TYPE_CHECKING:
    from collections.abc import Sequence


def _as_axis(what: str, axis: object) -> int:
    number = known_integer(axis)
    if number is None:
        msg = f"{what}: an axis must be an integer known when the graph is built, got {text_of(axis)}. Pass its number."
        raise AxisError(msg)
    return number


def several_axes(axis: object) -> list[object] | None:
    """Return an axis argument as a list where it names several (list, tuple, range, vector of integers), else None."""
    if isinstance(axis, tuple | list | range):
        return list(axis)
    data = axis.data if isinstance(axis, Constant) else axis
    return list(data) if isinstance(data, np.ndarray) and data.ndim == 1 else None


def named_axes(axis: object) -> list[object]:
    """Return an axis argument as a list of the axes that it names; None names none here."""
    several = several_axes(axis)
    return [axis] if several is None else several


def normalize_axes(what: str, axis: object, ndim: int, *, of_scalar: bool = False) -> tuple[int, ...]:
    """Return axes as a tuple of numbers from 0 to `ndim` - 1, in the order given; all of them for None.

    `what` names the argument in messages. With `of_scalar`, axis 0 of a scalar stands for no axis, as in NumPy's
    reductions.
    """
    if axis is None:
        return tuple(range(ndim))
    several = several_axes(axis)
    axes = [_as_axis(what, a) for a in ([axis] if several is None else several)]
    if of_scalar and ndim == 0 and several is None and axes[0] in {0, -1}:
        return ()
    result = []
    for a in axes:
        if not -ndim <= a < ndim:
            limits = f"Axes run from {-ndim} to {ndim - 1}." if ndim else "It has no axes."
            msg = f"{what}: axis {a} is out of range for a tensor of rank {ndim}. {limits}"
            raise AxisError(msg)
        result.append(a + ndim if a < 0 else a)
    if len(set(result)) != len(result):
        msg = f"{what}: an axis is named twice in {tuple(axes)}. Name each once."
        raise AxisError(msg)
    return tuple(result)


def normalize_axis(what: str, axis: object, ndim: int) -> int:
    """Return one axis as a number from 0 to `ndim` - 1 (errors as for `normalize_axes`)."""
    return normalize_axes(what, (axis,), ndim)[0]


def at_axis(axis: int, part: Any) -> tuple[Any, ...]:
    """Return the index of a part along an axis: ``x[at_axis(1, slice(2))]`` is ``x[:, :2]``."""
    return (*(slice(None),) * axis, part)


def axis_keyword(axes: Sequence[int], ndim: int) -> dict[str, int | tuple[int, ...]]:
    """Return the argument ``axis=`` that names the axes in a formula, or nothing if they are all there are."""
    if len(axes) == ndim:
        return {}
    return {"axis": axes[0] if len(axes) == 1 else tuple(axes)}
