"""Records of ops on values that are not tensors: slices. They have no batch."""

from __future__ import annotations

from treadle import tensor as tt
from treadle.tensor import TensorVariable
from treadle.testing.domain import WIDE
from treadle.testing.operands import number, of_shape
from treadle.testing.sample import Sample

F = "composed.values"
_VARIANTS = ("plain", "long", "strided", "reversed")
_X = of_shape((3, 4), long=(11, 97), domain=WIDE)


def _chosen(first: TensorVariable, x: TensorVariable, n: TensorVariable) -> object:
    return x[tt.ifelse(first, tt.make_slice(1, n), tt.make_slice(None, None, -1))]


# The C backend has no values of these types.
SAMPLES: tuple[Sample, ...] = (
    Sample("slice", F, _chosen, lambda first, x, n: x[1:n] if first else x[::-1],
           (number(1), _X, number(3)), variants=_VARIANTS, kinds=("rewritten",), optional=True),
    Sample("slice_backwards", F, _chosen, lambda first, x, n: x[1:n] if first else x[::-1],
           (number(0), _X, number(3)), variants=_VARIANTS, kinds=("rewritten",), optional=True),
)  # fmt: skip
