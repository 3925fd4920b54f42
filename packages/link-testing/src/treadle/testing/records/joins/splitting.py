"""Records of Split."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import WIDE
from treadle.testing.operands import NO_SPECIAL, number, of_shape
from treadle.testing.sample import COMPOSED, Sample

F = "splitting"
_WIDE = of_shape((3, 6), broadcast=(1, 6), empty=(0, 6), long=(11, 6), domain=WIDE)


SAMPLES: tuple[Sample, ...] = (
    Sample("constant", F, lambda x: tuple(tt.split(x, [2, 0, 4], axis=1)), lambda x: tuple(np.split(x, [2, 2], axis=1)),
           (_WIDE,), wrt=(0,), variants=NO_SPECIAL),
    Sample("symbolic", F, lambda x, n: tuple(tt.split(x, [n, 2], axis=-1)),
           lambda x, n: tuple(np.split(x, [n], axis=1)), (_WIDE, number(4)), wrt=(0,), variants=NO_SPECIAL,
           ragged=(1,)),
    Sample("nearly_equal", F, lambda x: tuple(tt.array_split(x, 4)), lambda x: tuple(np.array_split(x, 4)), (_WIDE,),
           wrt=(0,), dtypes=("int64", "float64"), variants=NO_SPECIAL, kinds=COMPOSED),
)  # fmt: skip
