"""Records of the hypergeometric function."""

from __future__ import annotations

from dataclasses import replace

from scipy import special

from treadle import tensor as tt
from treadle.testing.domain import Domain
from treadle.testing.records.elementwise import elementwise
from treadle.testing.sample import Sample

F = "hypergeometric"
_PARAMETER = Domain(0.5, 2.5, special=False)
_ARGUMENT = Domain(-0.8, 0.8, special=False)

SAMPLES: tuple[Sample, ...] = (
    replace(
        elementwise(
            F, "hyp2f1", tt.hyp2f1, special.hyp2f1, _PARAMETER, _PARAMETER, _PARAMETER, _ARGUMENT,
            dtypes=("float64",), wrt=(0, 1, 2, 3), order=1, takes_all=False, kinds=("values",),
        ),
        # PyTorch has none.
        optional=True,
    ),
)  # fmt: skip
