"""Records of accumulations along an axis, and of the linear recurrence that differentiates them."""

from __future__ import annotations

from functools import partial

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import DISTINCT, SMALL, UNIT, WIDE, Array, Domain
from treadle.testing.operands import NO_SPECIAL, SAME_SHAPE, of_shape
from treadle.testing.sample import COMPOSED, DISCRETE, FLOATS, KINDS, MAJOR, REALS, VARIANTS, Function, Sample, costly

F = "accumulation"
# It takes only dtypes that have derivatives.
LEFT_OUT = {tt.LinearRecurrence: DISCRETE}
_NEAR_ONE = Domain(0.7, 1.3)
_LOSSY = {"float32": (1e-4, 2e-2), "float64": (1e-11, 1e-9)}
_HOLES = np.array([1, 1, 0, 1, 0, 1], "int8")
_TABLE: tuple[tuple[str, Function, Function, Domain, tuple[str, ...]], ...] = (
    ("cumsum", tt.cumsum, np.cumsum, WIDE, NO_SPECIAL),
    ("cumprod", tt.cumprod, np.cumprod, _NEAR_ONE, NO_SPECIAL),
    ("cummax", tt.cummax, np.maximum.accumulate, DISTINCT, VARIANTS),
    ("cummin", tt.cummin, np.minimum.accumulate, DISTINCT, VARIANTS),
    ("logcumsumexp", tt.logcumsumexp, np.logaddexp.accumulate, SMALL, NO_SPECIAL),
)


def _recurrence(decay: Array, x: Array) -> Array:
    h = x.copy()
    for t in range(1, x.shape[1]):
        h[:, t] = decay[:, t - 1] * h[:, t - 1] + x[:, t]
    return h


_MATRIX = (of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97)),)

SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    *(
        Sample(f"{name}_{place}", F, partial(build, axis=axis), partial(oracle, axis=axis),
               (of_shape((3, 4), broadcast=(1, 4), empty=(3, 0), long=(11, 97), domain=domain),),
               dtypes=(REALS if axis else MAJOR) if name != "logcumsumexp" else FLOATS, wrt=(0,), variants=variants,
               order=2 if axis else 1, kinds=KINDS if axis else ("values", "first"), tolerances=_LOSSY)
        for name, build, oracle, domain, variants in _TABLE
        for place, axis in (("first", 0), ("last", -1))
    ),
    Sample("cumsum_middle", F, partial(tt.cumsum, axis=1), partial(np.cumsum, axis=1), (of_shape((2, 3, 4)),),
           dtypes=MAJOR, wrt=(0,), kinds=COMPOSED),
    Sample("cumsum_flat", F, tt.cumsum, np.cumsum, _MATRIX, dtypes=MAJOR, wrt=(0,), kinds=COMPOSED),
    Sample("cumsum_in_float32", F, partial(tt.cumsum, axis=0, dtype="float32"),
           partial(np.cumsum, axis=0, dtype="float32"), _MATRIX, dtypes=MAJOR, variants=NO_SPECIAL,
           tolerances=_LOSSY, kinds=("values",)),
    Sample("cumsum_of_truth", F, lambda x: (tt.cumsum(x, 0, dtype="bool"), tt.cumprod(x, 0, dtype="bool")),
           lambda x: (np.cumsum(x, 0, dtype="bool"), np.cumprod(x, 0, dtype="bool")), _MATRIX,
           dtypes=("bool", "int64"), kinds=("values",)),
    Sample("cumprod_with_zeros", F, lambda x: tt.cumprod(x * _HOLES), lambda x: np.cumprod(x * _HOLES),
           (of_shape((6,)),), dtypes=FLOATS, wrt=(0,), variants=NO_SPECIAL, kinds=("values", "first", "second")),
    Sample("of_complex_numbers", F, lambda x: (tt.cumsum(x, 0), tt.cumprod(x, 1)),
           lambda x: (np.cumsum(x, 0), np.cumprod(x, 1)), _MATRIX, dtypes=("complex128",), wrt=(0,),
           variants=SAME_SHAPE, kinds=("values", "first")),
    Sample("cumulative_sum", F, partial(tt.cumulative_sum, axis=1, include_initial=True),
           partial(np.cumulative_sum, axis=1, include_initial=True), _MATRIX, dtypes=MAJOR, variants=NO_SPECIAL,
           kinds=COMPOSED, tolerances=_LOSSY),
    Sample("linear_recurrence", F, tt.LinearRecurrence(1), _recurrence,
           (of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 36), domain=UNIT),
            of_shape((3, 5), broadcast=(1, 5), empty=(0, 5), long=(11, 37))),
           dtypes=FLOATS, wrt=(0, 1), variants=NO_SPECIAL, tolerances=_LOSSY),
)  # fmt: skip
