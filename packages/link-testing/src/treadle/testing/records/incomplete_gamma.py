"""Records of the incomplete gamma functions and their inverses."""

from __future__ import annotations

from scipy import special

from treadle import tensor as tt
from treadle.testing.domain import Domain
from treadle.testing.records.elementwise import elementwise
from treadle.testing.sample import FLOATS, Sample

F = "incomplete_gamma"
_SHAPE = Domain(0.3, 6.0)
_ARGUMENT = Domain(0.3, 6.0)
# SciPy gives numbers for some shapes and probabilities beyond the range.
_PROBABILITY = Domain(0.1, 0.9, special=False)
_POSITIVE = Domain(0.3, 6.0, special=False)

SAMPLES: tuple[Sample, ...] = (
    elementwise(
        F, "gammainc", tt.gammainc, special.gammainc, _SHAPE, _ARGUMENT, dtypes=FLOATS, wrt=(0, 1), takes_all=False,
        kinds=("values", "first", "second"),
    ),
    elementwise(
        F, "gammaincc", tt.gammaincc, special.gammaincc, _SHAPE, _ARGUMENT, dtypes=FLOATS, wrt=(0, 1), takes_all=False,
        kinds=("values", "first", "second"),
    ),
    elementwise(
        F, "gammaincinv", tt.gammaincinv, special.gammaincinv, _POSITIVE, _PROBABILITY, dtypes=FLOATS, wrt=(0, 1),
        order=1, takes_all=False, kinds=("values", "first"),
    ),
    elementwise(
        F, "gammainccinv", tt.gammainccinv, special.gammainccinv, _POSITIVE, _PROBABILITY, dtypes=FLOATS, wrt=(0, 1),
        order=1, takes_all=False, kinds=("values", "first"),
    ),
)  # fmt: skip
