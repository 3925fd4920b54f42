"""Records of functions whose plain formulas divide 0 by 0, or lose digits."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import special

from treadle import tensor as tt
from treadle.testing.domain import REAL, UNIT, Array, Domain
from treadle.testing.records.elementwise.function_samples import elementwise, in_float64
from treadle.testing.sample import FLOATS, MAJOR, Sample
from treadle.testing.slopes import integral, scalar_op

F = "stable_quotients"
_ORDINARY = Domain(special=False)
_record = partial(elementwise, F, dtypes=MAJOR, takes_all=False, kinds=("rewritten", "first", "second"))


def _exprel_slope(x: Array) -> Array:
    return integral(lambda t: t * np.exp(x[..., None] * t), 1)


def _sinc_slope(x: Array) -> Array:
    return integral(lambda t: -np.pi * t * np.sin(np.pi * x[..., None] * t), 1)


SAMPLES: tuple[Sample, ...] = (
    _record("logit", tt.logit, special.logit, Domain(0.1, 0.9), wrt=(0,), dtypes=FLOATS),
    _record("log_expit", tt.log_expit, special.log_expit, REAL, wrt=(0,)),
    _record("exprel", tt.exprel, special.exprel, REAL, wrt=(0,)),
    elementwise(F, "sinc", tt.sinc, np.sinc, REAL, wrt=(0,), tolerances={"float16": (5e-3, 5e-3)}),
    # Derivatives near the points where the plain formulas divide 0 by 0.
    _record("sinc_near_zero", tt.sinc, np.sinc, UNIT, wrt=(0,), dtypes=("float64",)),
    _record("exprel_slope", scalar_op("exprel_slope"), in_float64(_exprel_slope), _ORDINARY, wrt=(0,), dtypes=FLOATS),
    _record("sinc_slope", scalar_op("sinc_slope"), in_float64(_sinc_slope), _ORDINARY, wrt=(0,), dtypes=FLOATS),
)
