"""Records of Join, stack and ARange."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import WIDE
from treadle.testing.operands import number, of_shape
from treadle.testing.sample import REALS, Sample

F = "joining"
# The dtype of a range is not that of the group.
LEFT_OUT = {tt.ARange: REALS}
_FIRST = of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97), domain=WIDE)
_SECOND = of_shape((2, 4), broadcast=(5, 4), empty=(2, 4), long=(3, 97), domain=WIDE)
_BESIDE = of_shape((3, 2), broadcast=(1, 2), empty=(0, 3), long=(11, 5), domain=WIDE)
_VARIANTS = ("plain", "broadcast", "empty", "long", "fortran", "strided", "reversed", "readonly")


SAMPLES: tuple[Sample, ...] = (
    Sample("rows", F, lambda x, y: tt.join(0, x, y), lambda x, y: np.concatenate([x, y], 0), (_FIRST, _SECOND),
           wrt=(0, 1), variants=_VARIANTS),
    Sample("columns", F, lambda x, y: tt.join(1, x, y, x), lambda x, y: np.concatenate([x, y, x], 1),
           (_FIRST, _BESIDE), wrt=(0, 1), variants=_VARIANTS),
    Sample("mixed", F, lambda x, y: tt.join(-1, x, y), lambda x, y: np.concatenate([x, y], -1),
           (_FIRST, of_shape((3, 2), broadcast=(1, 2), empty=(0, 3), long=(11, 5), dtype="int16")), wrt=(0,),
           variants=_VARIANTS),
    Sample("one", F, lambda x: tt.join(0, x), lambda x: np.concatenate([x]), (_FIRST,), wrt=(0,)),
    Sample("stack", F, lambda x, y: tt.stack([x, y], axis=1), lambda x, y: np.stack([x, y], axis=1),
           (_FIRST, _FIRST), wrt=(0, 1)),
    Sample("stack_scalars", F, lambda x, y: tt.stack([x, y, x]), lambda x, y: np.stack([x, y, x]),
           (of_shape(()), of_shape(())), wrt=(0, 1)),
    Sample("with_constant", F, lambda x: tt.join(0, x, np.ones((1, 4), "bool")),
           lambda x: np.concatenate([x, np.ones((1, 4), "bool")]), (of_shape((3, 4)),), wrt=(0,)),
    *(
        Sample(f"arange_{name}", F, tt.arange, np.arange, (number(start), number(stop), number(step)),
               dtypes=("int64",), ragged=(0, 1, 2))
        for name, start, stop, step in (
            ("up", 2, 11, 3), ("down", 5, -4, -2), ("none", 3, 3, 1), ("backwards", 3, 0, 1),
        )
    ),
    *(
        Sample(f"arange_{dtype}", F, tt.arange, np.arange,
               (number(0.5, dtype), number(3.0, dtype), number(0.5, dtype)), dtypes=(dtype,),
               ragged=(0, 1, 2))
        for dtype in ("float32", "float64")
    ),
    Sample("arange_slope", F, lambda a, b: tt.arange(a, 2.8, b) ** 2, lambda a, b: np.arange(a, 2.8, b) ** 2,
           (number(0.5, "float64"), number(0.5, "float64")), dtypes=("float64",), wrt=(0, 1), ragged=(0, 1)),
    Sample("arange_of_length", F, lambda x: tt.arange(x.shape[0]), lambda x: np.arange(x.shape[0]), (_FIRST,)),
    Sample("arange_constant", F, lambda x: tt.arange(5) * x, lambda x: np.arange(5) * x, (of_shape(()),),
           dtypes=("int64", "float64")),
    Sample("eye", F, lambda n: tt.eye(n, 4, k=1, dtype="float32"), lambda n: np.eye(int(n), 4, k=1, dtype="float32"),
           (number(3),), dtypes=("int64",), ragged=(0,)),
)  # fmt: skip
