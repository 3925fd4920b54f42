"""How probable it is that a normal number lies between two numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.lazy import lazy_scipy_module

if TYPE_CHECKING:
    from treadle.tensor.random.methods.generator_methods import Operand

special = lazy_scipy_module("special")


def log_normal_mass(low: Operand, high: Operand) -> Operand:
    """Return the logarithm of the probability that a standard normal number is between two numbers."""
    above = low > 0
    near, far = np.where(above, -low, high), np.where(above, -high, low)
    # Both on one side: a difference of logarithms; else 1 less both tails.
    larger, smaller = special.log_ndtr(near), special.log_ndtr(far)
    one_side = larger + np.log(-np.expm1(np.minimum(smaller - larger, 0.0)))
    around = np.log1p(-special.ndtr(far) - special.ndtr(-near))
    return np.where(near > 0, around, one_side)
