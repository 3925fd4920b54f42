"""Records of fused reductions: the result of one step is stored, that of another is summed and its maximum found."""

from __future__ import annotations

from functools import partial

import numpy as np

from treadle import tensor as tt
from treadle.tensor import TensorVariable
from treadle.testing.domain import Array, Domain
from treadle.testing.operands import NO_SPECIAL, of_shape
from treadle.testing.sample import MAJOR, REALS, Axis, Sample

F = "fused_reduction"
_SMALL = Domain(-3.0, 3.0, special=False)
_LOSSY = {"float32": (1e-4, 1e-3), "float64": (1e-11, 1e-9)}


def _build(x: TensorVariable, y: TensorVariable, axis: Axis, alone: bool = False) -> object:
    z = x * y + x
    nodes = [v.get_parents()[0] for v in (tt.sum(z, axis=axis), tt.max(z, axis=axis))]
    over = [node.op for node in nodes if isinstance(node.op, tt.Reduction)]
    dtypes = (x.dtype, x.dtype)
    steps = (
        tt.Step(tt.SCALAR_OPS["mul"], (0, 1), dtypes, x.dtype),
        tt.Step(tt.SCALAR_OPS["add"], (2, 0), dtypes, x.dtype),
    )
    if alone:
        # One output, which is a value, not a tuple of one.
        return tt.FusedReduction(tt.Composite(2, dtypes, steps, (3,)), (over[0],))(x, y)
    op = tt.FusedReduction(tt.Composite(2, dtypes, steps, (2, 3, 3)), (None, *over))
    return tuple(op(x, y, return_list=True))


def _oracle(x: Array, y: Array, axis: Axis) -> tuple[Array, ...]:
    product = np.asarray(x * y)
    value = np.asarray(product + x)
    return product, np.sum(value, axis=axis), np.max(value, axis=axis)


_operand = partial(of_shape, domain=_SMALL)

_MATRIX = _operand((3, 4), broadcast=(1, 4), empty=(3, 4), long=(11, 97))
_SHORT_ROWS = _operand((40, 3), broadcast=(40, 1), empty=(40, 3), long=(700, 3))
_CUBE = _operand((2, 3, 4), broadcast=(1, 3, 1), empty=(2, 3, 4), long=(5, 7, 33))

SAMPLES: tuple[Sample, ...] = (
    *(
        Sample(
            f"fused_{place}",
            F,
            partial(_build, axis=axis),
            partial(_oracle, axis=axis),
            (operand, operand),
            dtypes,
            variants=NO_SPECIAL,
            tolerances=_LOSSY,
        )
        for place, axis, operand, dtypes in (
            ("all", None, _MATRIX, REALS),
            ("first", 0, _MATRIX, MAJOR),
            ("last", -1, _MATRIX, MAJOR),
            ("short_rows", 1, _SHORT_ROWS, MAJOR),
            ("short_columns", 0, _SHORT_ROWS, MAJOR),
            ("outer", (0, 2), _CUBE, REALS),
            ("middle", 1, _CUBE, MAJOR),
        )
    ),
    Sample(
        "fused_alone",
        F,
        partial(_build, axis=-1, alone=True),
        lambda x, y: np.sum(np.asarray(x * y + x), axis=-1),
        (_MATRIX, _MATRIX),
        MAJOR,
        variants=NO_SPECIAL,
        tolerances=_LOSSY,
    ),
)
