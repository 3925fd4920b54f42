"""Records of error functions and of the normal distribution."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import special

from treadle import tensor as tt
from treadle.testing.domain import NEGATIVE, REAL, UNIT, Array, Domain
from treadle.testing.records.elementwise.function_samples import elementwise, in_float64
from treadle.testing.sample import FLOATS, MAJOR, Sample
from treadle.testing.slopes import scalar_op

F = "error_functions"
_PROBABILITY = Domain(0.1, 0.9)
_ORDINARY = Domain(special=False)
# They are compiled in the same way as other functions; the dtypes that are left out only differ in width.
_record = partial(elementwise, F, dtypes=MAJOR, takes_all=False, kinds=("rewritten", "first", "second"))


def _erfcx_1(x: Array) -> Array:
    return np.asarray(1 / np.sqrt(np.pi) - x * special.erfcx(x))


def _erfcx_2(x: Array) -> Array:
    return np.asarray((special.erfcx(x) - 2 * x * _erfcx_1(x)) / 4)


def _inverse_mills_ratio(x: Array) -> Array:
    return np.asarray(np.exp(-x * x / 2 - special.log_ndtr(x)) / np.sqrt(2 * np.pi))


SAMPLES: tuple[Sample, ...] = (
    elementwise(F, "erf", tt.erf, special.erf, REAL, wrt=(0,), signed_zeros=True),
    _record("erfc", tt.erfc, special.erfc, REAL, wrt=(0,)),
    _record("erfcx", tt.erfcx, special.erfcx, REAL, wrt=(0,)),
    _record("erfinv", tt.erfinv, special.erfinv, UNIT, wrt=(0,)),
    _record("erfcinv", tt.erfcinv, special.erfcinv, _PROBABILITY, wrt=(0,), dtypes=FLOATS),
    _record("ndtr", tt.ndtr, special.ndtr, REAL, wrt=(0,)),
    _record("log_ndtr", tt.log_ndtr, special.log_ndtr, REAL, wrt=(0,)),
    _record("ndtri", tt.ndtri, special.ndtri, _PROBABILITY, wrt=(0,), dtypes=FLOATS),
    _record("ndtri_exp", tt.ndtri_exp, special.ndtri_exp, NEGATIVE, wrt=(0,)),
    _record("owens_t", tt.owens_t, special.owens_t, REAL, REAL, wrt=(0, 1)),
    *(
        _record(name, scalar_op(name), in_float64(oracle), _ORDINARY, wrt=(0,), dtypes=FLOATS)
        for name, oracle in (
            ("erfcx_1", _erfcx_1), ("erfcx_2", _erfcx_2), ("inverse_mills_ratio", _inverse_mills_ratio),
        )
    ),
)  # fmt: skip
