"""Records of Alloc and SumTo."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import WIDE, Array
from treadle.testing.operands import NO_SPECIAL, number, of_shape
from treadle.testing.sample import NUMBERS, Function, Sample

F = "broadcasting"
# SumTo takes numbers, not booleans.
LEFT_OUT = {tt.SumTo: ("bool",)}
_MATRIX = of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97), domain=WIDE)


def _filled(x: Array, n: Array, m: Array) -> Array:
    return np.array(np.broadcast_to(x, (int(n), int(m))))


def _summed(x: Array, y: Array) -> object:
    """Sum x to the shape of y, in x's dtype."""
    extra = x.ndim - y.ndim
    total = x.sum(axis=tuple(range(extra)), dtype=x.dtype)
    axes = tuple(d for d, n in enumerate(y.shape) if n == 1 and total.shape[d] != 1)
    return total.sum(axis=axes, keepdims=True, dtype=x.dtype)


def _like(value: float) -> Function:
    return lambda x: np.full(x.shape, value, x.dtype)


_LOSSY = {"float32": (1e-4, 1e-3), "float64": (1e-11, 1e-10)}

SAMPLES: tuple[Sample, ...] = (
    Sample("alloc_scalar", F, tt.alloc, _filled, (of_shape(()), number(3), number(4)), wrt=(0,),
           ragged=(1, 2)),
    Sample("alloc_none", F, tt.alloc, _filled, (of_shape(()), number(0), number(4)), ragged=(1, 2)),
    Sample("alloc_vector", F, tt.alloc, _filled, (of_shape((4,), broadcast=(1,)), number(3), number(4)), wrt=(0,),
           ragged=(1, 2)),
    Sample("alloc_column", F, tt.alloc, _filled, (of_shape((3, 1)), number(3), number(4)), wrt=(0,),
           ragged=(1, 2)),
    Sample(
        "broadcast_to", F, lambda x: tt.broadcast_to(x, (2, 3, 4)), lambda x: np.array(np.broadcast_to(x, (2, 3, 4))),
        (of_shape((3, 4), broadcast=(1, 4)),), wrt=(0,),
    ),
    Sample("zeros_like", F, tt.zeros_like, _like(0), (_MATRIX,)),
    Sample("ones_like", F, tt.ones_like, _like(1), (_MATRIX,)),
    Sample(
        "full_like", F, lambda x: tt.full_like(x, 1, dtype="float32"), lambda x: np.ones(x.shape, "float32"), (_MATRIX,)
    ),
    Sample(
        "zeros", F, lambda n: tt.zeros((n, 2), dtype="int16"), lambda n: np.zeros((int(n), 2), "int16"), (number(3),),
        dtypes=("int64",), ragged=(0,),
    ),
    Sample(
        "sum_to_matrix", F, tt.sum_to, _summed,
        (_MATRIX, of_shape((1, 4), broadcast=(1, 1), empty=(1, 4), long=(11, 1))), dtypes=NUMBERS, wrt=(0,),
        variants=NO_SPECIAL, tolerances=_LOSSY,
    ),
    Sample(
        "sum_to_vector", F, tt.sum_to, _summed, (_MATRIX, of_shape((4,), broadcast=(1,), empty=(1,), long=(97,))),
        dtypes=NUMBERS, wrt=(0,), variants=NO_SPECIAL, tolerances=_LOSSY,
    ),
    Sample(
        "sum_to_scalar", F, tt.sum_to, _summed, (_MATRIX, of_shape(())), dtypes=NUMBERS, wrt=(0,),
        variants=NO_SPECIAL, tolerances=_LOSSY,
    ),
    Sample(
        "sum_to_same", F, tt.sum_to, _summed, (_MATRIX, _MATRIX), dtypes=NUMBERS, wrt=(0,), variants=NO_SPECIAL,
        tolerances=_LOSSY,
    ),
)  # fmt: skip
