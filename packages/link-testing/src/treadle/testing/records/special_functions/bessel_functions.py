"""Records of Bessel functions."""

from __future__ import annotations

from functools import partial

from scipy import special

from treadle import tensor as tt
from treadle.testing.domain import POSITIVE, REAL, Domain
from treadle.testing.records.elementwise.function_samples import elementwise
from treadle.testing.sample import COMPOSED, FLOATS, Sample, costly

F = "bessel_functions"
_ORDER = Domain(0.2, 3.0, special=False)
# SciPy's values at infinity depend on the order in no consistent way.
_PLAIN = Domain(0.3, 4.0, special=False)
# PyTorch's functions lose some digits.
_OWN = {"float64": (1e-8, 1e-9)}
_record = partial(elementwise, F, dtypes=("float64",), takes_all=False, kinds=COMPOSED)

SAMPLES: tuple[Sample, ...] = costly(
    ("jax-first",),
    _record("j0", tt.j0, special.j0, POSITIVE, wrt=(0,), tolerances=_OWN, dtypes=("int64", *FLOATS)),
    _record("j1", tt.j1, special.j1, POSITIVE, wrt=(0,), tolerances=_OWN),
    _record("y0", tt.y0, special.y0, POSITIVE, wrt=(0,), tolerances=_OWN),
    _record("y1", tt.y1, special.y1, POSITIVE, wrt=(0,), tolerances=_OWN),
    _record("i0", tt.i0, special.i0, REAL, wrt=(0,)),
    _record("i1", tt.i1, special.i1, REAL, wrt=(0,)),
    _record("i0e", tt.i0e, special.i0e, REAL, wrt=(0,)),
    _record("i1e", tt.i1e, special.i1e, REAL, wrt=(0,)),
    _record("k0", tt.k0, special.k0, POSITIVE, wrt=(0,)),
    _record("k1e", tt.k1e, special.k1e, POSITIVE, wrt=(0,)),
    _record("jv", tt.jv, special.jv, _ORDER, _PLAIN, wrt=(1,)),
    _record("iv", tt.iv, special.iv, _ORDER, _PLAIN, wrt=(1,)),
    _record("kve", tt.kve, special.kve, _ORDER, _PLAIN, wrt=(1,)),
)
