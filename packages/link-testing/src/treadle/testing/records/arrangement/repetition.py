"""Records of repeating, and of the functions that put tensors together, flip, roll and space them."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import WIDE
from treadle.testing.operands import number, of_shape, positions
from treadle.testing.sample import COMPOSED, REALS, Sample

F = "repetition"
# Positions are int64.
LEFT_OUT = {tt.RepeatedPositions: tuple(dtype for dtype in REALS if dtype != "int64")}
_FEW = ("int64", "float64")
_MATRIX = of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97), domain=WIDE)
_VECTOR = of_shape((4,), broadcast=(1,), empty=(0,), long=(17,), domain=WIDE)
_COUNTS = positions(2, 0, 1)


SAMPLES: tuple[Sample, ...] = (
    Sample("each", F, lambda x, n: tt.repeat(x, n, axis=0), lambda x, n: np.repeat(x, n, axis=0),
           (of_shape((3, 4), domain=WIDE), _COUNTS), wrt=(0,), dtypes=("int64",), ragged=(1,), computed_shape=True),
    Sample("each_of_vector", F, tt.repeat, np.repeat,
           (of_shape((3,)), _COUNTS), wrt=(0,), dtypes=_FEW, kinds=COMPOSED, ragged=(1,), computed_shape=True),
    Sample("all_alike", F, lambda x: tt.repeat(x, 3, axis=1), lambda x: np.repeat(x, 3, axis=1), (_MATRIX,), wrt=(0,),
           dtypes=_FEW, kinds=COMPOSED),
    Sample("tile", F, lambda x, n: tt.tile(x, (2, n, 1)), lambda x, n: np.tile(x, (2, int(n), 1)), (_MATRIX, number(3)),
           wrt=(0,), dtypes=_FEW, kinds=COMPOSED, ragged=(1,)),
    Sample("roll", F, lambda x: tt.roll(x, (2, -1), (0, 1)), lambda x: np.roll(x, (2, -1), (0, 1)), (_MATRIX,),
           wrt=(0,), dtypes=_FEW, kinds=COMPOSED),
    Sample("roll_by_number", F, lambda x, n: tt.roll(x, n, 1), lambda x, n: np.roll(x, int(n), 1),
           (_MATRIX, number(-6)), wrt=(0,), dtypes=_FEW, kinds=COMPOSED),
    Sample("lower_triangle", F, lambda x: tt.tril(x, 1), lambda x: np.tril(x, 1), (_MATRIX,), wrt=(0,),
           dtypes=_FEW, kinds=COMPOSED),
    Sample("linspace", F, lambda a, b: tt.linspace(a, b, 7), lambda a, b: np.linspace(a, b, 7),
           (_VECTOR, of_shape(())), wrt=(0, 1), dtypes=("float32", "float64"), variants=("plain", "empty", "long"),
           kinds=COMPOSED),
    Sample("linspace_of_length", F, lambda n: tt.linspace(0, 3, n, False), lambda n: np.linspace(0, 3, int(n), False),
           (number(7),), dtypes=("int64",), kinds=COMPOSED, ragged=(0,)),
    Sample("mgrid", F, lambda n: tt.mgrid[0:n, -1:1:5j], lambda n: np.mgrid[0:int(n), -1:1:5j], (number(3),),
           dtypes=("int64",), kinds=COMPOSED, ragged=(0,)),
    Sample("vander", F, lambda x: tt.vander(x, 4), lambda x: np.vander(x, 4), (of_shape((3,)),), wrt=(0,),
           dtypes=_FEW, kinds=COMPOSED),
    Sample("block", F, lambda x, y: tt.block([[x, x], [y, y]]), lambda x, y: np.block([[x, x], [y, y]]),
           (_MATRIX, of_shape((2, 4), broadcast=(2, 4), empty=(2, 4), long=(2, 97))), wrt=(0, 1), dtypes=_FEW,
           kinds=COMPOSED),
    Sample("broadcast_arrays", F, tt.broadcast_arrays, lambda x, y: tuple(np.broadcast_arrays(x, y)),
           (_MATRIX, of_shape((4,), long=(97,))), wrt=(0, 1), dtypes=_FEW, kinds=COMPOSED),
)  # fmt: skip
