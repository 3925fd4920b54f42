"""Records of Softmax, LogSoftmax, LogSumExp, and of the largest element that they subtract."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import special

from treadle import tensor as tt
from treadle.testing.domain import REAL, Domain
from treadle.testing.operands import in_dtype_of, of_shape
from treadle.testing.sample import FLOATS, INTEGERS, Function, Operand, Sample

F = "normalization"
# It takes floats, and is minus infinity for no elements.
LEFT_OUT = {tt.Peak: ("bool", *INTEGERS)}
# Numbers whose exponentials overflow.
_HUGE = Domain(-2000.0, 2000.0, special=False)
_LOSSY = {"float32": (1e-4, 1e-4), "float64": (1e-11, 1e-11)}
_FUNCTIONS: tuple[tuple[str, Function, Function], ...] = (
    ("softmax", tt.softmax, special.softmax),
    ("log_softmax", tt.log_softmax, special.log_softmax),
    ("logsumexp", tt.logsumexp, special.logsumexp),
)
_AXES: tuple[tuple[str, int | None], ...] = (("all", None), ("first", 0), ("last", -1))


def _matrix(domain: Domain, static: tuple[int | None, ...] = ()) -> tuple[Operand, ...]:
    return (of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97), domain=domain, static=static),)


_FINITE = tuple(v for v in ("plain", "broadcast", "long", "fortran", "strided", "reversed", "readonly"))
_WITH_EMPTY = (*_FINITE, "empty")

SAMPLES: tuple[Sample, ...] = (
    *(
        Sample(
            f"{name}_{place}",
            F,
            partial(build, axis=axis),
            in_dtype_of(partial(oracle, axis=axis)),
            _matrix(REAL),
            wrt=(0,),
            variants=_WITH_EMPTY if axis == -1 else _FINITE,
            tolerances=_LOSSY,
        )
        for name, build, oracle in _FUNCTIONS
        for place, axis in _AXES
    ),
    *(
        Sample(
            f"{name}_of_huge",
            F,
            partial(build, axis=1),
            in_dtype_of(partial(oracle, axis=1)),
            _matrix(_HUGE),
            dtypes=("int16", "float32", "float64"),
            variants=_FINITE,
            tolerances={"float32": (1e-3, 1e-3), "float64": (1e-9, 1e-9)},
        )
        for name, build, oracle in _FUNCTIONS
    ),
    Sample(
        "peak",
        F,
        tt.Peak((0,)),
        lambda x: np.max(x, axis=0, keepdims=True, initial=-np.inf),
        _matrix(REAL),
        dtypes=FLOATS,
        variants=_WITH_EMPTY,
    ),
    Sample(
        "logsumexp_kept",
        F,
        partial(tt.logsumexp, axis=(0, 1), keepdims=True),
        in_dtype_of(partial(special.logsumexp, axis=(0, 1), keepdims=True)),
        _matrix(REAL),
        wrt=(0,),
        variants=_FINITE,
        tolerances=_LOSSY,
    ),
)
