"""Records of the incomplete beta function and its inverse."""

from __future__ import annotations

from dataclasses import replace

from scipy import special

from treadle import tensor as tt
from treadle.testing.domain import Domain
from treadle.testing.records.elementwise import elementwise
from treadle.testing.sample import FLOATS, Sample

F = "incomplete_beta"
_SHAPE = Domain(0.3, 6.0, special=False)
_ARGUMENT = Domain(0.1, 0.9, special=False)

SAMPLES: tuple[Sample, ...] = (
    elementwise(
        F, "betainc", tt.betainc, special.betainc, _SHAPE, _SHAPE, _ARGUMENT, dtypes=FLOATS, wrt=(0, 1, 2),
        takes_all=False, kinds=("values", "first", "second"),
    ),
    replace(
        elementwise(
            F, "betaincinv", tt.betaincinv, special.betaincinv, _SHAPE, _SHAPE, _ARGUMENT, dtypes=FLOATS,
            wrt=(0, 1, 2), order=1, takes_all=False, kinds=("values", "first"),
        ),
        # PyTorch has none.
        optional=True,
    ),
)  # fmt: skip
