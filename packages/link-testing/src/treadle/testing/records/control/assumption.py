"""Records of tensors with facts about them."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import WIDE
from treadle.testing.operands import of_shape
from treadle.testing.sample import REALS, Sample

F = "assumption"
# It passes values of any dtype on.
LEFT_OUT = {tt.SpecifyAssumptions: tuple(dtype for dtype in REALS if dtype not in {"float64", "int64"})}

SAMPLES: tuple[Sample, ...] = (
    Sample("assume", F, lambda x: tt.assume(x, symmetric=False) + tt.assume(x, diagonal=False), lambda x: x + x,
           (of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97), domain=WIDE),),
           dtypes=("int64", "float64"), wrt=(0,)),
    Sample("assume_alone", F, lambda x: tt.assume(x, nonnegative=False), np.array, (of_shape((4,), domain=WIDE),),
           dtypes=("int64", "float64"), wrt=(0,)),
)  # fmt: skip
