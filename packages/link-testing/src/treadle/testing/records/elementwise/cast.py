"""Records of casts, copies, and the choice between two values."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import REAL, WIDE, Array, Domain
from treadle.testing.records.elementwise.function_samples import elementwise
from treadle.testing.sample import REALS, Function, Sample

F = "cast"
# Floats within the range of every integer dtype; NumPy does not define the conversion of others.
_EVERYWHERE = Domain(0.0, 100.0, special=False)


def _cast_to(dtype: str) -> Function:
    return tt.CASTS[dtype]


def _as_type(dtype: str) -> Function:
    return lambda x: x.astype(dtype)


def _second(x: Array, y: Array) -> Array:
    return np.array(np.broadcast_to(y, np.broadcast_shapes(x.shape, y.shape)))


def _choose(c: Array, x: Array, y: Array) -> Array:
    return np.where(c, x, y)


SAMPLES: tuple[Sample, ...] = (
    elementwise(F, "identity", tt.identity, np.array, WIDE, wrt=(0,), signed_zeros=True),
    elementwise(F, "second", tt.second, _second, REAL, WIDE, wrt=(1,), signed_zeros=True),
    elementwise(F, "switch", tt.switch, _choose, REAL, WIDE, WIDE, fixed=("bool", None, None), wrt=(1, 2)),
    elementwise(F, "switch_number", tt.switch, _choose, REAL, WIDE, WIDE, wrt=(1, 2)),
    *(
        elementwise(
            F,
            f"cast_{dtype}",
            _cast_to(dtype),
            _as_type(dtype),
            WIDE if dtype in {"bool", "float32", "float64"} else _EVERYWHERE,
            wrt=(0,) if dtype == "float64" else None,
            signed_zeros=dtype.startswith("float"),
        )
        for dtype in REALS
    ),
    *(
        # Between integers of any size the bits that do not fit are dropped.
        elementwise(F, f"cast_{dtype}_wraps", _cast_to(dtype), _as_type(dtype), WIDE, dtypes=REALS[1:9],
                    takes_all=False)
        for dtype in ("int8", "uint8", "int32", "uint64")
    ),
    elementwise(F, "cast_float16", _cast_to("float16"), _as_type("float16"), WIDE, signed_zeros=True),
)  # fmt: skip
