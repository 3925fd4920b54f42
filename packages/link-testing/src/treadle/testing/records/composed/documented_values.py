"""Records of pytensor-surface's ops: of scalars and lists, which are no tensors and have no batch, and of vectors."""

from __future__ import annotations

import numpy as np

from treadle import typed_list
from treadle.surface.values.scalar_values import scalar_from_tensor, tensor_from_scalar
from treadle.surface.values.vectors import AllocEmpty, make_vector
from treadle.tensor import TensorVariable
from treadle.testing.domain import WIDE, Array
from treadle.testing.operands import of_shape
from treadle.testing.sample import Sample

F = "composed.values"
_KINDS = ("values", "rewritten")
_VARIANTS = ("plain", "long", "strided", "reversed")
_X = of_shape((3, 4), long=(11, 97), domain=WIDE)


def _changed(x: TensorVariable, y: TensorVariable) -> object:
    pair = typed_list.make_list(x, y)
    items = pair.append(x[::-1]).extend(pair).insert(1, y).reverse().remove(y)
    return items[0], items[-2], items.count(x), items.ind(y), typed_list.length(items)


def _changed_in_python(x: Array, y: Array) -> tuple[Array, ...]:
    items = [x, y, x[::-1], x, y]
    items.insert(1, y)
    items.reverse()
    del items[0]  # y, the first that equals y
    same = [[np.array_equal(item, z) for item in items] for z in (x, y)]
    return items[0], items[-2], np.array(sum(same[0])), np.array(same[1].index(True)), np.array(len(items))


def _with_empty(x: TensorVariable) -> TensorVariable:
    empty: TensorVariable = AllocEmpty(x.dtype)(x.shape[0], 2)
    return empty * np.zeros((), x.dtype) + x[:, :2]


# The C backend has no values of these types.
SAMPLES: tuple[Sample, ...] = (
    Sample("scalar", F, lambda x: x * tensor_from_scalar(scalar_from_tensor(x[0, 0])), lambda x: x * x[0, 0],
           (_X,), variants=_VARIANTS, kinds=(*_KINDS, "first"), wrt=(0,),
           optional=True),
    Sample("vector", F, lambda x: make_vector(x[0, 0], x[1, 1], x[2, 0]),
           lambda x: np.array([x[0, 0], x[1, 1], x[2, 0]]), (_X,), variants=_VARIANTS, wrt=(0,)),
    Sample("empty", F, _with_empty, lambda x: x[:, :2], (_X,), variants=_VARIANTS),
    Sample("list", F, _changed, _changed_in_python, (_X, _X), variants=_VARIANTS, kinds=_KINDS, optional=True),
)  # fmt: skip
