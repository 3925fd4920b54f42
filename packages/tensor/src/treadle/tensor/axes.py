"""Axis arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.tensor.errors import AxisError

if TYPE_CHECKING:
    from collections.abc import Sequence


def _as_int(what: str, axis: Any) -> int:
    data = getattr(axis, "data", axis) if not isinstance(axis, int) else axis
    try:
        return int(data.__index__())
    except (AttributeError, TypeError) as error:
        msg = f"{what}: an axis must be an integer known when the graph is built, got {axis!r}."
        raise AxisError(msg) from error


def normalize_axes(what: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """Return axes as a tuple of numbers from 0 to `ndim` - 1, in the order given; all of them for None.

    Parameters
    ----------
    what
        Whose argument it is, for messages.
    axis
        None, an integer, or a sequence of integers; negative ones count from the end.
    ndim
        Rank of the tensor.

    Raises
    ------
    AxisError
        If an axis is no integer, out of range, or named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    axes = [_as_int(what, a) for a in (axis if isinstance(axis, tuple | list) else (axis,))]
    result = []
    for a in axes:
        if not -ndim <= a < ndim:
            msg = f"{what}: axis {a} is out of range for a tensor of rank {ndim}. Axes run from {-ndim} to {ndim - 1}."
            raise AxisError(msg)
        result.append(a + ndim if a < 0 else a)
    if len(set(result)) != len(result):
        msg = f"{what}: an axis is named twice in {tuple(axes)}. Name each once."
        raise AxisError(msg)
    return tuple(result)


def axis_keyword(axes: Sequence[int], ndim: int) -> dict[str, int | tuple[int, ...]]:
    """Return the argument ``axis=`` that names the axes in a formula, or nothing if they are all there are."""
    if len(axes) == ndim:
        return {}
    return {"axis": axes[0] if len(axes) == 1 else tuple(axes)}
