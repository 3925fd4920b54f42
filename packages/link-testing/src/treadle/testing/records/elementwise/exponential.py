"""Records of powers, roots, exponentials and logarithms."""

from __future__ import annotations

import numpy as np
from scipy import special

from treadle import tensor as tt
from treadle.testing.domain import NEGATIVE, NONZERO, POSITIVE, REAL, SMALL, WIDE, Array, Domain
from treadle.testing.records.elementwise.function_samples import elementwise, in_float64
from treadle.testing.sample import FLOATS, INTEGERS, NUMBERS, SIGNED, Sample

F = "exponential"
_EXPONENT = Domain(0.0, 3.0, special=False)
_BASE = Domain(0.3, 3.0)
_LOSSY = {"float16": (5e-3, 5e-3)}


def _log1mexp(x: Array) -> Array:
    return np.where(x > -np.log(2.0), np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def _reciprocal(x: Array) -> Array:
    return np.asarray(np.true_divide(x.dtype.type(1), x))


def _powers(x: Array) -> tuple[Array, ...]:
    """Return the powers; special values are left out, since NumPy's own power of 0.5 is a square root, or not."""
    return tuple(np.power(x, np.full(x.shape, y, x.dtype)) for y in (2, 3, 0.5, -1.0))


SAMPLES: tuple[Sample, ...] = (
    elementwise(F, "exp", tt.exp, np.exp, SMALL, wrt=(0,)),
    elementwise(F, "exp2", tt.exp2, np.exp2, SMALL, wrt=(0,)),
    elementwise(F, "expm1", tt.expm1, np.expm1, SMALL, wrt=(0,), signed_zeros=True),
    elementwise(F, "log", tt.log, np.log, POSITIVE, wrt=(0,)),
    elementwise(F, "log2", tt.log2, np.log2, POSITIVE, wrt=(0,)),
    elementwise(F, "log10", tt.log10, np.log10, POSITIVE, wrt=(0,)),
    elementwise(F, "log1p", tt.log1p, np.log1p, POSITIVE, wrt=(0,), signed_zeros=True),
    elementwise(F, "sqrt", tt.sqrt, np.sqrt, POSITIVE, wrt=(0,), signed_zeros=True),
    elementwise(F, "sqr", tt.sqr, np.square, WIDE, wrt=(0,)),
    elementwise(
        F, "reciprocal", tt.reciprocal, _reciprocal, Domain(0.5, 3.0, zero=False, special=False), wrt=(0,),
        dtypes=NUMBERS, takes_all=False,
    ),
    elementwise(
        F, "reciprocal_special", tt.reciprocal, np.reciprocal, NONZERO, dtypes=FLOATS, signed_zeros=True,
        takes_all=False,
    ),
    elementwise(F, "pow", tt.power, np.power, SMALL, _EXPONENT, dtypes=("bool", *INTEGERS), takes_all=False),
    elementwise(F, "pow_float", tt.power, np.power, _BASE, SMALL, dtypes=FLOATS, wrt=(0, 1), takes_all=False),
    elementwise(
        F, "pow_whole", tt.power, np.power, NONZERO, Domain(-3, 3), dtypes=FLOATS, fixed=(None, "int32"), wrt=(0,),
        takes_all=False,
    ),
    elementwise(
        F, "pow_constant", lambda x: (x**2, x**3, x**0.5, x**-1.0), _powers, Domain(0.3, 4.0, special=False),
        dtypes=FLOATS, wrt=(0,), takes_all=False,
    ),
    elementwise(F, "sigmoid", tt.sigmoid, in_float64(special.expit), REAL, wrt=(0,), tolerances=_LOSSY),
    elementwise(
        F, "softplus", tt.softplus, in_float64(lambda x: np.logaddexp(x, 0)), REAL, wrt=(0,), tolerances=_LOSSY
    ),
    elementwise(
        F, "log1mexp", tt.log1mexp, in_float64(_log1mexp), NEGATIVE, dtypes=(*SIGNED, *FLOATS), wrt=(0,),
        tolerances=_LOSSY, takes_all=False,
    ),
    elementwise(F, "logaddexp", tt.logaddexp, np.logaddexp, REAL, REAL, wrt=(0, 1), tolerances=_LOSSY),
)  # fmt: skip
