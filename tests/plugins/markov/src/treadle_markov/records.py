"""The records of the op and the distribution, which are checked on every backend."""

from __future__ import annotations

import numpy as np
from scipy import stats
from treadle_markov.ops import normalize_rows
from treadle_markov.random import sum_uniform

from treadle.testing import Distribution, Domain, Operand, Sample

_POSITIVE = Domain(0.25, 2.0)
_SHAPES = {"plain": (3, 4), "empty": (0, 4), "long": (11, 97)}


def _expected(x: np.ndarray) -> object:
    return x / x.sum(axis=-1, keepdims=True)


def _triangular(low: float, high: float) -> object:
    """Return the distribution of the sum: a triangle over twice the interval."""
    return stats.triang(0.5, 2 * low, 2 * (high - low))


SAMPLES = [
    Sample(
        "normalize_rows", "markov", normalize_rows, _expected, (Operand(_SHAPES, _POSITIVE),),
        dtypes=("float32", "float64"), wrt=(0,),
    ),
    Sample(
        "normalize_rows_of_stack", "markov", normalize_rows, _expected, (Operand({"plain": (2, 3, 4)}, _POSITIVE),),
        dtypes=("float32", "float64"), wrt=(0,),
    ),
]  # fmt: skip
DISTRIBUTIONS = [
    Distribution("sum_uniform", [(0.0, 1.0), (-2.0, 5.0)], _triangular, smooth=(0, 1), make=sum_uniform),
]
RECORDS = [*SAMPLES, *DISTRIBUTIONS]
