"""Records of trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import ABOVE_ONE, POSITIVE, REAL, UNIT, Domain
from treadle.testing.records.elementwise.function_samples import elementwise
from treadle.testing.sample import Sample

F = "trigonometric"
_NEAR_ZERO = Domain(-1.2, 1.2)

SAMPLES: tuple[Sample, ...] = (
    elementwise(F, "sin", tt.sin, np.sin, REAL, wrt=(0,), signed_zeros=True),
    elementwise(F, "cos", tt.cos, np.cos, REAL, wrt=(0,)),
    elementwise(F, "tan", tt.tan, np.tan, _NEAR_ZERO, wrt=(0,), signed_zeros=True),
    elementwise(F, "arcsin", tt.arcsin, np.arcsin, UNIT, wrt=(0,), signed_zeros=True),
    elementwise(F, "arccos", tt.arccos, np.arccos, UNIT, wrt=(0,)),
    elementwise(F, "arctan", tt.arctan, np.arctan, REAL, wrt=(0,), signed_zeros=True),
    elementwise(F, "sinh", tt.sinh, np.sinh, REAL, wrt=(0,), signed_zeros=True),
    elementwise(F, "cosh", tt.cosh, np.cosh, REAL, wrt=(0,)),
    elementwise(F, "tanh", tt.tanh, np.tanh, REAL, wrt=(0,), signed_zeros=True),
    elementwise(F, "arcsinh", tt.arcsinh, np.arcsinh, REAL, wrt=(0,), signed_zeros=True),
    elementwise(F, "arccosh", tt.arccosh, np.arccosh, ABOVE_ONE, wrt=(0,)),
    elementwise(F, "arctanh", tt.arctanh, np.arctanh, UNIT, wrt=(0,), signed_zeros=True),
    elementwise(F, "deg2rad", tt.deg2rad, np.deg2rad, REAL, wrt=(0,)),
    elementwise(F, "rad2deg", tt.rad2deg, np.rad2deg, REAL, wrt=(0,)),
    elementwise(F, "arctan2", tt.arctan2, np.arctan2, REAL, POSITIVE, wrt=(0, 1), signed_zeros=True),
)
