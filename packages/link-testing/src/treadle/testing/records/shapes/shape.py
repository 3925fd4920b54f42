"""Records of Shape, ShapeI and Reshape."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import WIDE, Array
from treadle.testing.operands import number, of_shape
from treadle.testing.sample import Function, Sample

F = "shape"
_MATRIX = (of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97), domain=WIDE),)
_CUBE = (of_shape((2, 3, 4), broadcast=(1, 3, 1), empty=(2, 0, 4), long=(5, 7, 33), domain=WIDE),)


def _lengths(x: Array) -> Array:
    return np.array(x.shape, "int64")


def _length(axis: int) -> Function:
    return lambda x: np.array(x.shape[axis], "int64")


SAMPLES: tuple[Sample, ...] = (
    Sample("shape", F, tt.shape, _lengths, _CUBE),
    Sample("shape_of_scalar", F, tt.shape, _lengths, (of_shape(()),)),
    Sample("shape_i", F, tt.ShapeI(1), _length(1), _CUBE),
    Sample("size", F, lambda x: x.size, lambda x: np.array(x.size, "int64"), _CUBE),
    Sample("reshape", F, lambda x: x.reshape((2, 6)), lambda x: x.reshape(2, 6), (of_shape((3, 4)),), wrt=(0,)),
    Sample("flatten", F, lambda x: x.flatten(), lambda x: x.reshape(x.size), _CUBE, wrt=(0,)),
    Sample("flatten_rest", F, lambda x: x.flatten(2), lambda x: x.reshape(x.shape[0], -1),
           (of_shape((2, 3, 4), broadcast=(1, 3, 1), long=(5, 7, 33)),), wrt=(0,)),
    Sample(
        "reshape_rest", F, lambda x: x.reshape((4, -1)), lambda x: x.reshape(4, -1),
        (of_shape((3, 4), broadcast=(1, 4), empty=(0, 4)),), wrt=(0,),
    ),
    Sample(
        "reshape_to_lengths", F, lambda x, n, m: x.reshape((n, m)), lambda x, n, m: x.reshape(int(n), int(m)),
        (of_shape((3, 4)), number(6), number(-1)), wrt=(0,), ragged=(1, 2),
    ),
    Sample(
        "reshape_view", F, lambda x: x.T.reshape((2, 6)), lambda x: x.T.reshape(2, 6), (of_shape((3, 4)),), wrt=(0,)
    ),
    Sample("reshape_scalar", F, lambda x: x.reshape((1, 1)), lambda x: x.reshape(1, 1), (of_shape(()),), wrt=(0,)),
    Sample("reshape_to_scalar", F, lambda x: x.reshape(()), lambda x: x.reshape(()), (of_shape((1, 1)),), wrt=(0,)),
    Sample(
        "by_own_shape", F, lambda x: x * x.shape[0].astype(x.dtype), lambda x: x * np.array(x.shape[0], x.dtype),
        _MATRIX, wrt=(0,),
    ),
)  # fmt: skip
