"""Permutations, and choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

import treadle.tensor as tt
from treadle.testing import Distribution

_ELEMENTS = np.array([1.0, 2.0, 5.0, -3.0])
_WEIGHTS = np.array([0.1, 0.0, 0.25, 0.45, 0.2])


def _of_permutations(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n, variance = len(x), x.var()
    return np.full(n, x.mean()), variance * (np.eye(n) * n - 1) / (n - 1)


def _numpy_permutations(rng: np.random.Generator, x: np.ndarray, size: Sequence[int]) -> np.ndarray:
    draws = np.empty((*size, len(x)))
    for at in np.ndindex(*size):
        draws[at] = rng.permutation(x)
    return draws


def _permuted(x: Any, size: Any = None, **options: Any) -> Any:
    batch = x if size is None else tt.broadcast_to(x, (*size, x.shape[0]))
    return tt.random.permuted(batch, axis=-1, **options)


DISTRIBUTIONS = [
    Distribution(
        "choice",
        [(_WEIGHTS,)],
        lambda p: stats.rv_discrete(values=(np.arange(len(p)), p)),
        numpy=lambda rng, p, size: rng.choice(len(p), size, p=p),
        extremes=[(([0.0, 1.0],), lambda x: bool((x == 1).all()))],
        invalid=[(([0.5, 0.6],), "Probabilities do not sum to 1")],
        make=lambda p, **options: tt.random.choice(p.shape[0], p=p, **options),
    ),
    *(
        Distribution(
            name,
            [(_ELEMENTS,)],
            moments=_of_permutations,
            numpy=_numpy_permutations,
            extremes=[
                (([7.0],), lambda x: bool((x == 7).all())),
                ((np.zeros(0),), lambda x: x.shape == (50, 0)),
                ((np.arange(9.0),), lambda x: bool((np.sort(x, -1) == np.arange(9.0)).all())),
            ],
            exact=True,
            make=make,
        )
        for name, make in (("permutation", None), ("shuffle", None), ("permuted", _permuted))
    ),
]
