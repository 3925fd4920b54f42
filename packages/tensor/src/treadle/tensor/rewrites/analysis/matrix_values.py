"""Facts about matrices that are constants, read off their elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.control.assumption import FACTS
from treadle.tensor.rewrites.analysis.fact_rules import FULL, RULES

if TYPE_CHECKING:
    from treadle.graph import Constant
    from treadle.tensor.rewrites.analysis.fact_rules import Bands

# Larger constants are not looked at; whether they are positive definite, which takes the cube, not from this side on.
_MOST_ELEMENTS, _LONGEST_SIDE = 2**20, 256


def holds(fact: str, var: Constant) -> bool:
    """Whether a fact holds for every matrix of a constant."""
    rule = RULES.value_rule(fact)
    value = np.asarray(var.data)
    # Without elements every fact would hold, and none is of use.
    if rule is None or not 0 < value.size <= _MOST_ELEMENTS:
        return False
    if not FACTS.about_matrices(fact):
        return rule(value)
    return value.ndim >= 2 and value.dtype.kind in "biufc" and rule(value)


def bands(var: Constant) -> Bands:
    """Return how far from the diagonal elements are that are not 0."""
    value = np.asarray(var.data)
    if value.ndim < 2 or value.size > _MOST_ELEMENTS or value.dtype.kind not in "biufc":
        return FULL
    *_, rows, columns = np.nonzero(value)
    if not rows.size:
        return 0, 0
    offsets = columns - rows
    return max(0, -int(offsets.min())), max(0, int(offsets.max()))


def _is_square(value: np.ndarray) -> bool:
    return value.shape[-1] == value.shape[-2]


@RULES.of_values("positive")
def _positive(value: np.ndarray) -> bool:
    return value.dtype.kind != "c" and bool((value > 0).all())


@RULES.of_values("symmetric")
def _symmetric(value: np.ndarray) -> bool:
    return _is_square(value) and np.array_equal(value, value.swapaxes(-1, -2))


@RULES.of_values("hermitian")
def _hermitian(value: np.ndarray) -> bool:
    return _is_square(value) and np.array_equal(value, value.swapaxes(-1, -2).conj())


@RULES.of_values("positive_definite")
def _positive_definite(value: np.ndarray) -> bool:
    if value.dtype.kind not in "fc" or value.shape[-1] > _LONGEST_SIDE or not _hermitian(value):
        return False
    try:
        np.linalg.cholesky(value)
    except np.linalg.LinAlgError:
        return False
    return True


@RULES.of_values("selection")
def _selection(value: np.ndarray) -> bool:
    return bool(((value == 0) | (value == 1)).all() and (value.sum(-2) == 1).all())


@RULES.of_values("permutation")
def _permutation(value: np.ndarray) -> bool:
    return _is_square(value) and _selection(value) and bool((value.sum(-1) == 1).all())
