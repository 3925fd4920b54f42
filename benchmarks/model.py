"""Model: one expression that is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np


@dataclass(frozen=True, slots=True)
class Model:
    """One expression to measure.

    Attributes
    ----------
    title
        What the table calls it.
    values
        Makes the arguments, from a seeded generator.
    expression
        Takes an array module and the arguments; returns the output.
    slopes
        Positions of arguments whose gradients are outputs too.
    step
        If not 0, these outputs are the arguments after a step down the gradient, of this length.
    limit
        Name of a function of `benchmarks.limits` that does the same in C, written by hand.
    without
        Systems that are left out, because they cannot run it, or would take minutes to compile.
    """

    title: str
    values: Callable[[np.random.Generator], list[Any]]
    expression: Callable[..., Any]
    slopes: tuple[int, ...] = ()
    step: float = 0.0
    limit: str = ""
    without: tuple[str, ...] = ()
