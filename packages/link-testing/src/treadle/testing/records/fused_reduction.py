"""Records of fused reductions: two steps, of which one is stored and the other summed and searched for its maximum."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import Domain
from treadle.testing.records.structured import NO_SPECIAL, of_shape
from treadle.testing.sample import MAJOR, REALS, Sample

F = "fused_reduction"
_SMALL = Domain(-3.0, 3.0, special=False)
_LOSSY = {"float32": (1e-4, 1e-3), "float64": (1e-11, 1e-9)}


def _build(x: Any, y: Any, axis: Any, alone: bool = False) -> Any:
    z = x * y + x
    mul: Any = tt.mul.scalar_op
    add: Any = tt.add.scalar_op
    over: list[Any] = [tt.sum(z, axis=axis).owner, tt.max(z, axis=axis).owner]
    dtypes = (x.dtype, x.dtype)
    steps = (
        tt.Step(mul, (0, 1), dtypes, x.dtype),
        tt.Step(add, (2, 0), dtypes, x.dtype),
    )
    if alone:
        # One output, which is a value, not a tuple of one.
        return tt.FusedReduction(tt.Composite(2, dtypes, steps, (3,)), (over[0].op,))(x, y)
    op = tt.FusedReduction(tt.Composite(2, dtypes, steps, (2, 3, 3)), (None, *(node.op for node in over)))
    return tuple(op(x, y, return_list=True))


def _oracle(x: Any, y: Any, axis: Any) -> Any:
    product = np.asarray(x * y)
    value = np.asarray(product + x)
    return product, np.sum(value, axis=axis), np.max(value, axis=axis)


def _sum(x: Any, y: Any, axis: Any) -> Any:
    return np.sum(np.asarray(x * y + x), axis=axis)


def _operand(shape: tuple[int, ...], **given: Any) -> Any:
    return of_shape(shape, domain=_SMALL, **given)


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
        partial(_sum, axis=-1),
        (_MATRIX, _MATRIX),
        MAJOR,
        variants=NO_SPECIAL,
        tolerances=_LOSSY,
    ),
)
