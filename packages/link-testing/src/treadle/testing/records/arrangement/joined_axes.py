"""Records of JoinDims and SplitDims."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.tensor import TensorVariable
from treadle.testing.domain import WIDE
from treadle.testing.operands import NO_SPECIAL, number, of_shape
from treadle.testing.sample import COMPOSED, Sample

F = "joined_axes"
_CUBE = of_shape((2, 3, 4), broadcast=(1, 3, 4), empty=(2, 0, 4), long=(5, 7, 4), domain=WIDE)


def _there_and_back(x: TensorVariable, y: TensorVariable) -> tuple[TensorVariable, ...]:
    packed, shapes = tt.pack(x, y, keep_axes=-1)
    return (packed, *tt.unpack(packed, shapes, keep_axes=-1))


SAMPLES: tuple[Sample, ...] = (
    Sample("join", F, lambda x: tt.join_dims(x, 0, 2), lambda x: x.reshape(x.shape[0] * x.shape[1], 4), (_CUBE,),
           wrt=(0,), variants=NO_SPECIAL),
    Sample("join_none", F, tt.JoinDims(1, 0), lambda x: x[:, None], (_CUBE,), wrt=(0,),
           variants=NO_SPECIAL, dtypes=("float64",), kinds=COMPOSED),
    Sample("split", F, lambda x, n: tt.split_dims(x, (n, -1), axis=2), lambda x, n: x.reshape(*x.shape[:2], int(n), 2),
           (_CUBE, number(2)), wrt=(0,), variants=NO_SPECIAL, ragged=(1,)),
    Sample("pack", F, _there_and_back, lambda x, y: (np.concatenate([x.reshape(-1, 4), y]), x, y),
           (_CUBE, of_shape((3, 4))), wrt=(0, 1), variants=NO_SPECIAL, dtypes=("float64",), kinds=COMPOSED),
)  # fmt: skip
