"""Finite differences along directions, which symbolic derivatives are compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from treadle.testing.domain import Array

STEP = 1e-3


def step_for(arrays: Sequence[Array]) -> float:
    """Return a step that is suitable for the magnitude of the numbers."""
    largest = max((float(np.max(np.abs(x))) for x in arrays if x.size and x.dtype.kind in "fc"), default=0.0)
    return STEP * max(1.0, largest / 3)


def slopes(
    function: Callable[..., Sequence[Array]], arrays: Sequence[Array], direction: Sequence[Array | None]
) -> list[Array]:
    """Return the derivatives of a function's results along a direction, to fourth order in the step.

    (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h (Abramowitz and Stegun, 25.3.6). The direction is None for operands
    that do not move.
    """
    h = step_for(arrays)
    ends = [function(*_moved(arrays, direction, times * h)) for times in (1, -1, 2, -2)]
    return [(8 * (a - b) - (c - d)) / (12 * h) for a, b, c, d in zip(*ends, strict=True)]


def slope(function: Callable[..., float], arrays: Sequence[Array], direction: Sequence[Array | None]) -> float:
    """Return the derivative of a function from arrays to a number; see `slopes`."""
    (derivative,) = slopes(lambda *values: [np.asarray(function(*values))], arrays, direction)
    return float(derivative)


def mixed_slope(
    function: Callable[..., float],
    arrays: Sequence[Array],
    first: Sequence[Array | None],
    second: Sequence[Array | None],
) -> float:
    """Return the second derivative of a function of arrays along two directions, to fourth order in the step.

    It is the central difference of a central difference at steps h and 2h, extrapolated (Richardson).
    """
    h = 2 * step_for(arrays)

    def at(a: float, b: float) -> float:
        return function(*_moved(_moved(arrays, first, a), second, b))

    def difference(k: float) -> float:
        return (at(k, k) - at(k, -k) - at(-k, k) + at(-k, -k)) / (4 * k * k)

    return (4 * difference(h) - difference(2 * h)) / 3


def _moved(arrays: Sequence[Array], direction: Sequence[Array | None], by: float) -> list[Array]:
    return [x if d is None else x + by * d for x, d in zip(arrays, direction, strict=True)]
