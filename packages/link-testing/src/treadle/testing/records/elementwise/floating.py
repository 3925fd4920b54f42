"""Records of functions of floats: parts and neighbours, roots and remainders, extrema that ignore NaN."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import AWAY_FROM_INTEGERS, AWAY_FROM_ZERO, NONZERO, REAL, SMALL, WIDE, Array, Domain
from treadle.testing.records.elementwise.function_samples import elementwise
from treadle.testing.sample import COMPOSED, FLOATS, NUMBERS, Sample

F = "floating"
_FEW = ("int64", *FLOATS)
_FACTOR = Domain(1.0, 3.0)
# x // y jumps where x / y is an integer: x from (0.1, 0.9) y.
_SMALL_SHARE = Domain(0.2, 0.8)
_WITHIN_POWERS = Domain(1.1, 1.9, special=False)


def _parts(x: Array) -> tuple[Array, ...]:
    return *np.frexp(x), *np.modf(x)


def _scaled(x: Array, n: Array) -> Array:
    return np.asarray(np.ldexp(x, n.astype("int32")))


_ALL = (
    elementwise(F, "cbrt", tt.cbrt, np.cbrt, AWAY_FROM_ZERO, wrt=(0,), signed_zeros=True),
    elementwise(F, "hypot", tt.hypot, np.hypot, AWAY_FROM_ZERO, AWAY_FROM_ZERO, wrt=(0, 1)),
    elementwise(F, "copysign", tt.copysign, np.copysign, AWAY_FROM_ZERO, AWAY_FROM_ZERO, wrt=(0, 1),
                signed_zeros=True),
    elementwise(F, "signbit", tt.signbit, np.signbit, AWAY_FROM_ZERO, dtypes=_FEW, takes_all=False),
    elementwise(F, "nextafter", tt.nextafter, np.nextafter, REAL, REAL, dtypes=_FEW, signed_zeros=True,
                takes_all=False),
    # Neighbours of float16 are scalar ops of their own.
    elementwise(F, "half", lambda x, y: (tt.nextafter(x, y), tt.spacing(tt.nextafter(x, y))),
                lambda x, y: (np.nextafter(x, y), np.spacing(np.nextafter(x, y))), REAL, REAL, dtypes=("float16",),
                takes_all=False),
    elementwise(F, "spacing", tt.spacing, np.spacing, REAL, dtypes=_FEW, wrt=(), takes_all=False),
    elementwise(F, "fabs", tt.fabs, np.fabs, AWAY_FROM_ZERO, dtypes=_FEW, wrt=(0,), takes_all=False,
                signed_zeros=True),
    elementwise(F, "positive", tt.positive, np.positive, WIDE, dtypes=NUMBERS, wrt=(0,), signed_zeros=True),
    elementwise(F, "rint", tt.rint, np.rint, AWAY_FROM_INTEGERS, dtypes=_FEW, takes_all=False, signed_zeros=True),
    elementwise(F, "fmod", tt.fmod, np.fmod, WIDE, NONZERO, dtypes=NUMBERS, takes_all=False, signed_zeros=True),
    elementwise(F, "fmod_slope", tt.fmod, np.fmod, _SMALL_SHARE, _FACTOR, dtypes=("float64",), wrt=(0, 1),
                takes_all=False),
    elementwise(F, "fmax", tt.fmax, np.fmax, REAL, REAL, wrt=(0, 1)),
    elementwise(F, "fmin", tt.fmin, np.fmin, REAL, REAL, wrt=(0, 1)),
    elementwise(F, "heaviside", tt.heaviside, np.heaviside, AWAY_FROM_ZERO, REAL, dtypes=_FEW, wrt=(0, 1),
                takes_all=False),
    elementwise(F, "float_power", tt.float_power, np.float_power, _FACTOR, SMALL, dtypes=_FEW, wrt=(0, 1), order=1,
                takes_all=False),
    elementwise(F, "logaddexp2", tt.logaddexp2, np.logaddexp2, REAL, REAL, dtypes=_FEW, wrt=(0, 1), takes_all=False),
    elementwise(F, "ldexp", lambda x, n: tt.ldexp(x, tt.cast(n, "int32")), _scaled, REAL, Domain(-4, 4),
                dtypes=FLOATS, fixed=(None, "int64"), wrt=(0,)),
    elementwise(F, "parts", lambda x: (*tt.frexp(x), *tt.modf(x)), _parts, _WITHIN_POWERS, dtypes=FLOATS, wrt=(0,),
                takes_all=False, signed_zeros=True),
    elementwise(
        F, "decimals", lambda x: (tt.round(x * 10, 1), tt.around(x * 100, -1), tt.sgn(x)),
        lambda x: (np.round(x * 10, 1), np.round(x * 100, -1), np.sign(x)), AWAY_FROM_INTEGERS,
        dtypes=("int64", "float64"), takes_all=False,
    ),
    elementwise(
        F, "replaced", lambda x, y: (tt.nan_to_num(x / y), tt.isclose(x, y), tt.allclose(x, y, equal_nan=True)),
        lambda x, y: (np.nan_to_num(x / y), np.isclose(x, y), np.allclose(x, y, equal_nan=True)), WIDE, NONZERO,
        dtypes=("float32", "float64"), takes_all=False,
    ),
)  # fmt: skip

SAMPLES: tuple[Sample, ...] = tuple(
    replace(sample, kinds=COMPOSED) if sample.name in {"decimals", "replaced"} else sample for sample in _ALL
)
