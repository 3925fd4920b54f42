"""Records of sorting, of the positions that sort, and of order statistics."""

from __future__ import annotations

from functools import partial

import numpy as np

from treadle import tensor as tt
from treadle.tensor import TensorVariable
from treadle.testing.domain import DISTINCT, REAL, Array
from treadle.testing.operands import SAME_SHAPE, number, of_shape, positions
from treadle.testing.sample import COMPOSED, MAJOR, Sample, costly

F = "sorting"
_VALUES = (of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97), domain=DISTINCT),)
_TIES = (of_shape((3, 4), broadcast=(1, 4), empty=(3, 0), long=(11, 97), domain=REAL),)


def _stable(x: Array, axis: int) -> Array:
    return np.argsort(x, axis=axis, kind="stable").astype("int64")


def _around(x: TensorVariable, k: TensorVariable) -> tuple[TensorVariable, ...]:
    values, places = tt.Partition(1)(x, k)
    return tuple(tt.take(y, k, axis=1) for y in (values, tt.take_along_axis(x, places, 1)))


def _largest(x: Array) -> tuple[Array, Array]:
    indices = np.argsort(-x, axis=0, kind="stable")[:2]
    return np.take_along_axis(x, indices, 0), indices


SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    Sample("sort_last", F, tt.sort, np.sort, _VALUES, wrt=(0,)),
    Sample("sort_first", F, partial(tt.sort, axis=0), partial(np.sort, axis=0), _VALUES, dtypes=MAJOR,
           kinds=("values",)),
    Sample("argsort_last", F, tt.argsort, partial(_stable, axis=-1), _TIES),
    Sample("argsort_first", F, partial(tt.argsort, axis=0), partial(_stable, axis=0), _TIES, dtypes=MAJOR,
           kinds=("values",)),
    Sample("order_statistics", F, tt.OrderStatistics(0), lambda x, k: np.sort(x, axis=0)[k],
           (of_shape((3, 4), broadcast=(3, 1), long=(97, 3), domain=DISTINCT), positions(2, 0, 1, 1)), wrt=(0,)),
    Sample("order_statistics_of_many", F, lambda x: tt.OrderStatistics(0)(x, np.array([700, 3, 1999, 701])),
           lambda x: np.sort(x, axis=0)[[700, 3, 1999, 701]], (of_shape((2000,)),), dtypes=(*MAJOR, "int16"),
           variants=("plain", "special"), kinds=("values",)),
    Sample("partition", F, _around, lambda x, k: (np.sort(x, axis=1)[:, k],) * 2,
           (of_shape((3, 5), broadcast=(1, 5), long=(11, 300), domain=DISTINCT), number(2)), wrt=(0,)),
    Sample("sort_flat", F, partial(tt.sort, axis=None), partial(np.sort, axis=None), _VALUES, dtypes=MAJOR, wrt=(0,),
           kinds=COMPOSED),
    Sample("topk", F, lambda x: tt.topk(x, 2, axis=0), _largest, (of_shape((3, 4), domain=DISTINCT),),
           dtypes=("float64",), wrt=(0,), variants=SAME_SHAPE, kinds=COMPOSED),
    Sample("lexsort", F, lambda x, y: tt.lexsort((x, tt.round(y))), lambda x, y: np.lexsort((x, np.round(y))),
           (of_shape((3, 9)), of_shape((3, 9))), dtypes=("float64", "int64"), kinds=COMPOSED),
    Sample("sort_complex_numbers", F, lambda x, y: tt.sort(tt.complex(tt.round(x), y)),
           lambda x, y: np.sort(np.round(x) + 1j * y), (of_shape((3, 9)), of_shape((3, 9))), dtypes=("float64",),
           variants=SAME_SHAPE, kinds=COMPOSED, optional=True),
)  # fmt: skip
