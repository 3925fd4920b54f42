"""Records of assertions that hold; `treadle.testing.failures` has those that do not."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import WIDE
from treadle.testing.operands import NO_SPECIAL, of_shape
from treadle.testing.sample import REALS, Sample

F = "assertion"
# They pass values of any dtype on.
_DTYPES = ("bool", "float64")
LEFT_OUT = {op: tuple(sorted(set(REALS) - set(_DTYPES))) for op in (tt.Assert, tt.CheckAndRaise)}
_X = of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97), domain=WIDE)
_CHECK = tt.CheckAndRaise(ValueError, "the check failed")

SAMPLES: tuple[Sample, ...] = (
    Sample("passed_on", F, lambda x: tt.Assert("few columns")(x, x.shape[1] > 1), lambda x: x, (_X,),
           dtypes=_DTYPES, wrt=(0,)),
    Sample("of_each", F, lambda x: _CHECK(x, x.shape[1] > 1, x * x >= 0) * x, lambda x: np.asarray(x * x), (_X,),
           dtypes=("float64",), wrt=(0,), variants=NO_SPECIAL),
    Sample("of_scalar", F, lambda x: _CHECK(x, tt.eq(x, x)), lambda x: x, (of_shape(()),), dtypes=_DTYPES, wrt=(0,)),
    Sample("of_nothing", F, _CHECK, lambda x: x, (_X,), wrt=(0,), dtypes=("float64",)),
)  # fmt: skip
