"""Records of x log y and of entropies."""

from __future__ import annotations

from functools import partial

from scipy import special

from treadle import tensor as tt
from treadle.testing.domain import POSITIVE, REAL
from treadle.testing.records.elementwise.function_samples import elementwise
from treadle.testing.sample import COMPOSED, FLOATS, MAJOR, Sample

F = "entropy"
_record = partial(elementwise, F, dtypes=MAJOR, takes_all=False, kinds=("rewritten", "first", "second"))

SAMPLES: tuple[Sample, ...] = (
    _record("xlogy", tt.xlogy, special.xlogy, REAL, POSITIVE, wrt=(0, 1)),
    _record("xlog1py", tt.xlog1py, special.xlog1py, REAL, POSITIVE, wrt=(0, 1)),
    _record("entr", tt.entr, special.entr, POSITIVE, wrt=(0,)),
    _record("rel_entr", tt.rel_entr, special.rel_entr, POSITIVE, POSITIVE, wrt=(0, 1)),
    _record("kl_div", tt.kl_div, special.kl_div, POSITIVE, POSITIVE, wrt=(0, 1)),
    _record("xlogx", tt.xlogx, lambda x: special.xlogy(x, x), POSITIVE, wrt=(0,), dtypes=FLOATS, kinds=COMPOSED),
)  # fmt: skip
