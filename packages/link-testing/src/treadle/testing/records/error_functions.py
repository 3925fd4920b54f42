"""Records of error functions and of the normal distribution."""

from __future__ import annotations

from functools import partial

from scipy import special

from treadle import tensor as tt
from treadle.testing.domain import NEGATIVE, REAL, UNIT, Domain
from treadle.testing.records.elementwise import elementwise
from treadle.testing.sample import FLOATS, MAJOR, Sample

F = "error_functions"
_PROBABILITY = Domain(0.1, 0.9)
# They are compiled as other functions are; the dtypes that are left out only differ in width.
_record = partial(elementwise, F, dtypes=MAJOR, takes_all=False, kinds=("rewritten", "first", "second"))

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
)
