"""Records of ops applied along a batch."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.operands import of_shape
from treadle.testing.sample import REALS, Sample

F = "blockwise"
_DTYPES = ("float64",)
# The inner op decides which dtypes it takes.
LEFT_OUT = {tt.Blockwise: tuple(sorted(set(REALS) - set(_DTYPES)))}
_ROWS = tt.Blockwise(tt.Join(0), "(m,n),(k,n)->(l,n)")

SAMPLES: tuple[Sample, ...] = (
    Sample("joined", F, _ROWS,
           lambda x, y: np.concatenate([np.broadcast_to(x, (2, 3, 4)), np.broadcast_to(y, (2, 2, 4))], axis=-2),
           (of_shape((2, 3, 4)), of_shape((2, 4))), dtypes=_DTYPES, wrt=(0, 1), variants=("plain", "strided")),
)  # fmt: skip
