"""Records of ops that are defined by graphs."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.tensor import TensorVariable
from treadle.testing.domain import Array
from treadle.testing.operands import NO_SPECIAL, in_dtype_of, of_shape
from treadle.testing.sample import FLOATS, Sample

F = "from_graph"
_X = of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97))
_Y = of_shape((3, 4), broadcast=(3, 1), empty=(1, 4), long=(11, 97))


def _fresh(*variables: TensorVariable) -> list[TensorVariable]:
    return [v.type.make_variable() for v in variables]


def _product(x: TensorVariable, y: TensorVariable) -> object:
    a, b = _fresh(x, y)
    return tt.OpFromGraph([a, b], [a * b * a])(x, y)


def _inline(x: TensorVariable, y: TensorVariable) -> object:
    a, b = _fresh(x, y)
    return tuple(tt.OpFromGraph([a, b], [a * b, a], inline=True)(x, y))


def _nested(x: TensorVariable) -> object:
    (a,) = _fresh(x)
    inner = tt.OpFromGraph([a], [tt.tanh(a)])
    outer = tt.OpFromGraph([a], [inner(a) * inner(a * a)])
    return outer(x)


def _with_choice(x: TensorVariable) -> object:
    (a,) = _fresh(x)
    op = tt.OpFromGraph([a], [tt.ifelse(a.shape[0] > 1, tt.sin(a), tt.cos(a))])
    return op(x)


def _chosen(x: Array) -> Array:
    return np.sin(x) if x.shape[0] > 1 else np.cos(x)


SAMPLES: tuple[Sample, ...] = (
    Sample("product", F, _product, lambda x, y: np.asarray(x * y * x), (_X, _Y), wrt=(0, 1), variants=NO_SPECIAL,
           fixed_shapes=True),
    Sample("inline", F, _inline, lambda x, y: (np.asarray(x * y), x), (_X, _Y), wrt=(0, 1), variants=NO_SPECIAL,
           fixed_shapes=True),
    Sample("nested", F, _nested, in_dtype_of(lambda x: np.tanh(x) * np.tanh(x * x)), (_X,), dtypes=FLOATS, wrt=(0,),
           variants=NO_SPECIAL, fixed_shapes=True),
    Sample("with_choice", F, _with_choice, in_dtype_of(_chosen), (_X,), dtypes=FLOATS, wrt=(0,), variants=NO_SPECIAL,
           fixed_shapes=True),
)  # fmt: skip
