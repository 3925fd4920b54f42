"""Records of block diagonal matrices."""

from __future__ import annotations

from scipy.linalg import block_diag

from treadle import tensor as tt
from treadle.tensor.linalg.records.matrix_domains import COMPLEX
from treadle.testing.operands import NO_SPECIAL, of_shape
from treadle.testing.sample import COMPOSED, REALS, Sample

F = "block_diagonal"
_FIRST = of_shape((2, 1, 2), broadcast=(1, 1, 2), empty=(2, 0, 2), long=(2, 11, 3))
_SECOND = of_shape((2, 3, 1), broadcast=(2, 2, 2), empty=(2, 1, 0), long=(1, 7, 9))

SAMPLES: tuple[Sample, ...] = (
    Sample("block_diag", F, tt.linalg.block_diag, block_diag, (_FIRST, _SECOND), dtypes=(*REALS, *COMPLEX),
           variants=NO_SPECIAL, wrt=(0, 1)),
    Sample("block_diag_of_vectors", F, lambda x, y: tt.linalg.block_diag(x, y, x[0]),
           lambda x, y: block_diag(x, y, x[0]), (of_shape((3,)), of_shape((2, 2))), dtypes=("float64",),
           variants=("plain", "reversed"), wrt=(0, 1), kinds=COMPOSED),
)  # fmt: skip
