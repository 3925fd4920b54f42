"""Records of the hypergeometric function."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from scipy import special

from treadle import tensor as tt
from treadle.testing.domain import Domain
from treadle.testing.records.elementwise.function_samples import elementwise
from treadle.testing.sample import Sample, costly
from treadle.testing.slopes import DIFFERENCES, scalar_op, slope

F = "hypergeometric"
_PARAMETER = Domain(0.5, 2.5, special=False)
_ARGUMENT = Domain(-0.8, 0.8, special=False)
_POSITIVE = Domain(0.1, 0.8, special=False)
_FOUR = (_PARAMETER, _PARAMETER, _PARAMETER, _ARGUMENT)


def _series_slope(by: float, *operands: Any) -> Any:
    return scalar_op("hyp2f1_series_slope")(by, *operands, 1 - operands[-1])


SAMPLES: tuple[Sample, ...] = costly(
    ("jax-*",),
    replace(
        elementwise(
            F, "hyp2f1", tt.hyp2f1, special.hyp2f1, _PARAMETER, _PARAMETER, _PARAMETER, _ARGUMENT,
            dtypes=("float64",), wrt=(0, 1, 2, 3), order=1, takes_all=False, kinds=("values",),
        ),
        # PyTorch has none.
        optional=True,
    ),
    # What derivatives are made of.
    *(
        replace(
            elementwise(
                F, name, build, slope(special.hyp2f1, which), *domains, dtypes=("float64",), takes_all=False,
                kinds=("values",), tolerances=DIFFERENCES,
            ),
            optional=True,
        )
        for name, build, which, domains in (
            ("by_a", scalar_op("hyp2f1_by_a"), 0, _FOUR),
            ("by_b", scalar_op("hyp2f1_by_b"), 1, _FOUR),
            ("by_c", scalar_op("hyp2f1_by_c"), 2, _FOUR),
            ("series_by_a", partial(_series_slope, 0.0), 0, (*_FOUR[:3], _POSITIVE)),
            ("series_by_c", partial(_series_slope, 1.0), 2, (*_FOUR[:3], _POSITIVE)),
        )
    ),
)  # fmt: skip
