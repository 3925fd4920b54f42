"""Records of minima and roots, found by SciPy or by a loop, and of fixed points, always found by a loop."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import Domain
from treadle.testing.operands import of_shape
from treadle.testing.sample import REALS, LeftOut, Sample, costly

F = "optimize"
optimize = tt.optimize
_OTHERS = tuple(dtype for dtype in REALS if dtype != "float64")
LEFT_OUT = (LeftOut(optimize.Optimum, _OTHERS), LeftOut(optimize.FixedPoint, _OTHERS))
_ANY = Domain(0.5, 2.0, special=False)
_SEARCHED = {"float64": (1e-4, 1e-4)}

SAMPLES: tuple[Sample, ...] = costly(
    ("pytorch-once",),
    Sample("minimize", F, lambda x, a: optimize.minimize(((x - a) ** 2).sum(), x), lambda x, a: (a + 0 * x, np.True_),
           (of_shape((4,), domain=_ANY), of_shape((4,), domain=_ANY)), dtypes=("float64",), optional=True,
           tolerances=_SEARCHED, variants=("plain", "strided", "reversed", "readonly")),
    Sample("root_scalar", F, lambda x, a: optimize.root_scalar(x**2 - a, x, method="newton", jac=True),
           lambda x, a: (np.sqrt(a) + 0 * x, np.True_), (of_shape((), domain=_ANY), of_shape((), domain=_ANY)),
           dtypes=("float64",), optional=True, tolerances=_SEARCHED, variants=("plain",)),
    Sample("minimize_scalar", F, lambda x, a: optimize.minimize_scalar((x - a) ** 2, x),
           lambda x, a: (a + 0 * x, np.True_), (of_shape((), domain=_ANY), of_shape((), domain=_ANY)),
           dtypes=("float64",), optional=True, tolerances=_SEARCHED, variants=("plain",)),
    Sample("root", F, lambda x, a: optimize.root(x**2 - a, x), lambda x, a: (np.sqrt(a) + 0 * x, np.True_),
           (of_shape((4,), domain=_ANY), of_shape((4,), domain=_ANY)), dtypes=("float64",), optional=True,
           tolerances=_SEARCHED, variants=("plain",)),
    Sample("fixed_point", F, lambda x, a: optimize.fixed_point(lambda y: (y + a / y) / 2, x),
           lambda x, a: (np.sqrt(a) + 0 * x, np.True_), (of_shape((4,), domain=_ANY), of_shape((4,), domain=_ANY)),
           dtypes=("float64",), optional=True, tolerances=_SEARCHED, variants=("plain",), computed_shape=True),
)  # fmt: skip
RECORDS = (*SAMPLES, *LEFT_OUT)
