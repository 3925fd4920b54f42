"""The table of programs, and what most of them do with a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Results = dict[str, Any]
TOLERANCE = 1e-10
# Why some programs agree to seven digits only. With PyTensor's cast_policy=numpy+floatX, which makes such constants
# float64, its own results of these programs change by as much.
NARROW = (
    "functions of constants that are small whole numbers, or such as 0.5, are computed in float32 by both, in another "
    "order"
)


@dataclass(frozen=True, slots=True)
class Program:
    """A function that returns arrays by name, and how closely treadle's must agree with PyTensor's."""

    run: Callable[[], Results]
    tolerance: float
    reason: str


_PROGRAMS: dict[str, dict[str, Program]] = {}


def program(
    *, tolerance: float = TOLERANCE, reason: str = ""
) -> Callable[[Callable[[], Results]], Callable[[], Results]]:
    """Register a program; a tolerance other than the usual one has a reason."""
    if tolerance != TOLERANCE and not reason:
        msg = f"program: a tolerance of {tolerance} has no reason. Write one."
        raise ValueError(msg)

    def register(function: Callable[[], Results]) -> Callable[[], Results]:
        _PROGRAMS.setdefault(function.__module__, {})[function.__name__] = Program(function, tolerance, reason)
        return function

    return register


def registered(module: str) -> dict[str, Program]:
    """Return the programs of a module by name."""
    return _PROGRAMS[module]


def evaluate(model: Any, *, points: int = 4, scale: float = 0.3, seed: int = 1) -> Results:
    """Return the initial point of a model, and its log density with its gradient there and at points around it.

    The gradient is one row a point, of all continuous variables in the order of the model.
    """
    start = model.initial_point(random_seed=seed)
    density = model.compile_fn([model.logp(), model.dlogp()])
    continuous = {value.name for value in model.continuous_value_vars}
    rng = np.random.default_rng(seed)
    values, gradients = [], []
    for i in range(points):
        point = {
            name: np.asarray(value + i * scale * rng.normal(size=np.shape(value))) if name in continuous else value
            for name, value in start.items()
        }
        value, gradient = density(point)
        values.append(value)
        gradients.append(gradient)
    initial = np.concatenate([np.ravel(np.asarray(start[name], dtype="float64")) for name in start])
    return {"initial": initial, "logp": np.asarray(values), "dlogp": np.asarray(gradients)}


def density_only(model: Any, seed: int = 1) -> Results:
    """Return the initial point of a model without continuous variables, and its log density there."""
    start = model.initial_point(random_seed=seed)
    initial = np.concatenate([np.ravel(np.asarray(value, dtype="float64")) for value in start.values()])
    return {"initial": initial, "logp": model.compile_logp()(start)}


def posterior(trace: Any, *names: str) -> Results:
    """Return the draws of some variables of a trace."""
    return {name: np.asarray(trace.posterior[name]) for name in names}
