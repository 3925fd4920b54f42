"""Making records of functions that only derivatives use, and oracles for them: finite differences and integrals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import Array
from treadle.testing.sample import Function

# Weights of the central difference of order 8.
_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
_STEP = 0.005
# The errors of SciPy's functions, divided by the step once and twice.
DIFFERENCES = {"float64": (1e-8, 1e-8)}


def scalar_op(name: str) -> Function:
    """Return the function of a scalar op without a public name; its family must be loaded."""
    return tt.Elemwise(tt.SCALAR_OPS[name])


def slope(function: Callable[..., Array], which: int) -> Callable[..., Array]:
    """Return the derivative of a function by one of its operands."""

    def derivative(*operands: Array) -> Array:
        def moved(by: float) -> Array:
            return function(*(x + by if at == which else x for at, x in enumerate(operands)))

        steps = [k * _STEP for k in range(1, 5)]
        return np.asarray(sum(w * (moved(s) - moved(-s)) for w, s in zip(_WEIGHTS, steps, strict=True)) / _STEP)

    return derivative


def integral(integrand: Callable[[Array], Array], end: float, parts: int = 1) -> Array:
    """Return the integral from 0 to `end` by Gauss and Legendre's rule in parts; nodes are a last dimension."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    at = ((np.arange(parts)[:, None] + (nodes + 1) / 2) * (end / parts)).ravel()
    return np.asarray((integrand(at) * np.tile(weights, parts)).sum(-1) * (end / parts / 2))
