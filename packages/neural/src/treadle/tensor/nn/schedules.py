"""Schedules: learning rates as functions of the number of steps made."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from treadle.config import config, text_of
from treadle.graph import composed
from treadle.tensor.elementwise.arithmetic import maximum, minimum, mul
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import ge, lt
from treadle.tensor.elementwise.rounding import floor
from treadle.tensor.elementwise.trigonometric import cos
from treadle.tensor.errors import ArgumentError
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = [
    "constant_schedule", "cosine_decay", "exponential_decay", "linear_warmup", "piecewise_constant", "step_decay",
]  # fmt: skip

Schedule = Callable[["TensorLike"], "TensorVariable"]


def _count(step: TensorLike) -> TensorVariable:
    return cast(as_tensor_variable(step), config.floatX)


def _positive(what: str, value: object) -> float:
    if not isinstance(value, int | float) or not value > 0:
        msg = f"{what} must be a positive number, got {text_of(value)}."
        raise ArgumentError(msg)
    return value


def constant_schedule(value: TensorLike) -> Schedule:
    """Return a schedule that is always the same.

    >>> from treadle.tensor.nn import constant_schedule
    >>> float(constant_schedule(0.1)(7).eval())
    0.1
    """

    @composed
    def at(step: TensorLike) -> TensorVariable:
        del step
        return as_tensor_variable(value)

    return at


def exponential_decay(
    value: TensorLike, rate: TensorLike, steps: float = 1, staircase: bool = False, lowest: TensorLike | None = None
) -> Schedule:
    """Return a schedule of value rate^(step / steps) (as optax.exponential_decay; torch's ExponentialLR for one step).

    Parameters
    ----------
    value
        The first learning rate.
    rate
        What it is multiplied by in `steps` steps.
    steps
        How many steps that takes.
    staircase
        Whether it changes only once in these steps (as torch's StepLR).
    lowest
        What it does not fall below.

    Raises
    ------
    ArgumentError
        If `steps` is not a positive number.

    Examples
    --------
    >>> from treadle.tensor.nn import exponential_decay
    >>> [float(exponential_decay(0.1, 0.5, steps=2)(step).eval().round(4)) for step in (0, 1, 2)]
    [0.1, 0.0707, 0.05]
    """
    _positive("exponential_decay: steps", steps)

    @composed
    def at(step: TensorLike) -> TensorVariable:
        times = _count(step) / steps
        result = mul(value, as_tensor_variable(rate) ** (floor(times) if staircase else times))
        return result if lowest is None else maximum(result, lowest)

    return at


def step_decay(value: TensorLike, steps: int, factor: TensorLike = 0.1) -> Schedule:
    """Return a schedule that is multiplied by a factor every so many steps (as torch's StepLR).

    >>> from treadle.tensor.nn import step_decay
    >>> [float(step_decay(1.0, 2, 0.5)(step).eval()) for step in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    return exponential_decay(value, factor, _positive("step_decay: steps", steps), staircase=True)


def piecewise_constant(boundaries: Sequence[int], values: Sequence[float]) -> Schedule:
    """Return a schedule with one value before each boundary, and one after the last.

    Raises
    ------
    ArgumentError
        If there is not one value more than boundaries, or these do not grow.

    Examples
    --------
    >>> from treadle.tensor.nn import piecewise_constant
    >>> [float(piecewise_constant([2, 3], [1.0, 0.5, 0.1])(step).eval()) for step in range(4)]
    [1.0, 1.0, 0.5, 0.1]
    """
    bounds, levels = list(boundaries), list(values)
    if len(levels) != len(bounds) + 1 or bounds != sorted(set(bounds)):
        msg = (
            "piecewise_constant: one value more than boundaries is needed, and boundaries that grow, got "
            f"{text_of(values)} and {text_of(boundaries)}."
        )
        raise ArgumentError(msg)

    @composed
    def at(step: TensorLike) -> TensorVariable:
        count = as_tensor_variable(step)
        result = as_tensor_variable(float(levels[0]))
        for bound, level in zip(bounds, levels[1:], strict=True):
            result = switch(ge(count, bound), level, result)
        return result

    return at


def cosine_decay(value: TensorLike, steps: float, lowest: TensorLike = 0.0) -> Schedule:
    """Return a schedule that falls to a lowest value along half a wave, and stays there (as CosineAnnealingLR).

    Parameters
    ----------
    value
        The first learning rate.
    steps
        How many steps the fall takes.
    lowest
        The last learning rate.

    Raises
    ------
    ArgumentError
        If `steps` is not a positive number.

    Notes
    -----
    I. Loshchilov and F. Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2017, without restarts.

    Examples
    --------
    >>> from treadle.tensor.nn import cosine_decay
    >>> [float(cosine_decay(1.0, 4)(step).eval().round(4)) for step in (0, 1, 2, 4, 9)]
    [1.0, 0.8536, 0.5, 0.0, 0.0]
    """
    _positive("cosine_decay: steps", steps)

    @composed
    def at(step: TensorLike) -> TensorVariable:
        share = (1 + cos(math.pi * minimum(_count(step) / steps, 1))) / 2
        return mul(value, share) + mul(lowest, 1 - share)

    return at


def linear_warmup(schedule: Schedule | float, steps: float, start: TensorLike = 0.0) -> Schedule:
    """Return a schedule that grows evenly to the first value of another one, and then is that one, from its beginning.

    Parameters
    ----------
    schedule
        What follows: a schedule, or a number.
    steps
        How many steps the growth takes.
    start
        The first learning rate.

    Raises
    ------
    ArgumentError
        If `steps` is not a positive number.

    Examples
    --------
    >>> from treadle.tensor.nn import cosine_decay, linear_warmup
    >>> rate = linear_warmup(cosine_decay(1.0, 2), steps=4)
    >>> [float(rate(step).eval().round(4)) for step in (0, 1, 3, 4, 5, 6)]
    [0.0, 0.25, 0.75, 1.0, 0.5, 0.0]
    """
    _positive("linear_warmup: steps", steps)
    then: Schedule = schedule if callable(schedule) else constant_schedule(schedule)

    @composed
    def at(step: TensorLike) -> TensorVariable:
        count = as_tensor_variable(step)
        first = as_tensor_variable(start)
        growing = first + (then(0) - first) * (_count(count) / steps)
        return switch(lt(count, steps), growing, then(maximum(count - int(steps), 0)))

    return at
