"""Records of SpecifyShape."""

from __future__ import annotations

from treadle import tensor as tt
from treadle.testing.domain import WIDE, Array
from treadle.testing.operands import SAME_SHAPE, number, of_shape
from treadle.testing.sample import Sample

F = "shape_specification"
_CUBE = of_shape((2, 3, 4), domain=WIDE)


def _same(x: Array, *lengths: Array) -> Array:
    del lengths
    return x


SAMPLES: tuple[Sample, ...] = (
    Sample("constant", F, lambda x: tt.specify_shape(x, (None, 3, 4)), _same, (_CUBE,), wrt=(0,),
           variants=SAME_SHAPE),
    Sample("symbolic", F, lambda x, n: tt.specify_shape(x, (n, None, None)), _same, (_CUBE, number(2)), wrt=(0,),
           variants=SAME_SHAPE, ragged=(1,)),
    Sample("of_length_one", F, lambda x, y: tt.specify_broadcastable(x, 1) + y, lambda x, y: x + y,
           (of_shape((3, 1)), of_shape((3, 4))), wrt=(0, 1), dtypes=("int64", "float64"), variants=SAME_SHAPE),
)  # fmt: skip
