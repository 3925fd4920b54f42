"""Records of choices between branches."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.tensor import TensorVariable
from treadle.testing.domain import WIDE, Array
from treadle.testing.operands import NO_SPECIAL, number, of_shape
from treadle.testing.sample import FLOATS, Sample

F = "conditional"
_X = of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97))
_Y = of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97))
_WIDE = of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97), domain=WIDE)


def _products(c: TensorVariable, x: TensorVariable, y: TensorVariable) -> object:
    return tt.ifelse(c, x * x, y * x)


def _nested(c: TensorVariable, x: TensorVariable, y: TensorVariable) -> object:
    return tt.ifelse(c > 1, x * y, tt.ifelse(c > 0, x * x, y))


def _guarded(c: TensorVariable, x: TensorVariable) -> object:
    # The NaN of logarithms of negative numbers, and of their derivatives, must not reach the result.
    return tt.ifelse(c, tt.log(x), x * x)


def _plain(c: TensorVariable, x: TensorVariable, y: TensorVariable) -> object:
    return tt.ifelse(c, x, y)


def _flipped(c: TensorVariable, x: TensorVariable) -> object:
    return tt.ifelse(c, x[::-1], x) * x


def _chosen(c: Array, x: Array, y: Array) -> Array:
    return np.asarray(x if c else y)


SAMPLES: tuple[Sample, ...] = (
    Sample("first", F, _products, lambda c, x, y: _chosen(c, x * x, y * x), (number(2), _X, _Y), wrt=(1, 2),
           variants=NO_SPECIAL, computed_shape=True),
    Sample("second", F, _products, lambda c, x, y: _chosen(c, x * x, y * x), (number(0), _X, _Y), wrt=(1, 2),
           variants=NO_SPECIAL, computed_shape=True),
    Sample("passed_on", F, _plain, _chosen, (number(1, "bool"), _WIDE, _WIDE), wrt=(1, 2), computed_shape=True),
    Sample("several", F, lambda c, x, y: tt.ifelse(c, (x, y, x * y), (y, x, x)),
           lambda c, x, y: (x, y, x * y) if c else (y, x, x), (number(0.0, "float64"), _X, _Y), wrt=(1, 2),
           variants=NO_SPECIAL, computed_shape=True),
    *(
        Sample(f"nested_{name}", F, _nested, lambda c, x, y: _chosen(c > 1, x * y, _chosen(c > 0, x * x, y)),
               (number(value), _X, _Y), wrt=(1, 2), variants=NO_SPECIAL, computed_shape=True)
        for name, value in (("outer", 2), ("inner", 1), ("neither", 0))
    ),
    Sample("of_scalars", F, _plain, _chosen, (of_shape(()), of_shape(()), of_shape(())), wrt=(1, 2),
           variants=("plain", "readonly")),
    Sample("used_twice", F, _flipped, lambda c, x: _chosen(c, x[::-1], x) * x, (number(1), _X), wrt=(1,),
           variants=NO_SPECIAL),
    Sample("guarded", F, _guarded, lambda c, x: np.asarray(np.log(x) if c else x * x), (number(0), _X), dtypes=FLOATS,
           wrt=(1,), variants=NO_SPECIAL),
)  # fmt: skip
