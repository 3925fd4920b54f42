"""Records of rounding functions."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.tensor import TensorVariable
from treadle.testing.domain import AWAY_FROM_HALVES, AWAY_FROM_INTEGERS, Array
from treadle.testing.records.elementwise.function_samples import elementwise
from treadle.testing.sample import NUMBERS, Sample

F = "rounding"


def _to_even(x: Array) -> Array:
    """Round as numpy.round does: integers stay integers."""
    return np.round(x)


def _away_from_zero(x: Array) -> Array:
    return np.copysign(np.floor(np.abs(x) + 0.5), x).astype(x.dtype) if x.dtype.kind == "f" else x


def _exact_halves(x: TensorVariable) -> object:
    """Round numbers halfway between integers, for which rounding functions differ."""
    return tt.round_half_to_even(tt.floor(x) + 0.5), tt.round_half_away_from_zero(tt.floor(x) + 0.5)


def _exact_halves_oracle(x: Array) -> tuple[Array, ...]:
    halves = np.floor(x) + 0.5
    return np.rint(halves), _away_from_zero(halves)


SAMPLES: tuple[Sample, ...] = (
    elementwise(F, "ceil", tt.ceil, np.ceil, AWAY_FROM_INTEGERS, wrt=(0,), signed_zeros=True),
    elementwise(F, "floor", tt.floor, np.floor, AWAY_FROM_INTEGERS, wrt=(0,), signed_zeros=True),
    elementwise(F, "trunc", tt.trunc, np.trunc, AWAY_FROM_INTEGERS, wrt=(0,), signed_zeros=True),
    elementwise(
        F, "round_half_to_even", tt.round_half_to_even, _to_even, AWAY_FROM_HALVES, wrt=(0,), signed_zeros=True
    ),
    elementwise(
        F,
        "round_half_away_from_zero",
        tt.round_half_away_from_zero,
        _away_from_zero,
        AWAY_FROM_HALVES,
        wrt=(0,),
        dtypes=NUMBERS,
        takes_all=False,
    ),
    elementwise(F, "halves", _exact_halves, _exact_halves_oracle, dtypes=("float32", "float64"), takes_all=False),
)
