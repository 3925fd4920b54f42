"""Records of comparisons and predicates."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import SMALL
from treadle.testing.records.elementwise.function_samples import elementwise
from treadle.testing.sample import Sample

F = "comparison"


_MIXED = ("bool", "int8", "int64", "uint64", "float32", "float64")
_COMPARISONS = (
    ("eq", tt.eq, np.equal),
    ("neq", tt.neq, np.not_equal),
    ("lt", tt.lt, np.less),
    ("le", tt.le, np.less_equal),
    ("gt", tt.gt, np.greater),
    ("ge", tt.ge, np.greater_equal),
)

SAMPLES: tuple[Sample, ...] = (
    *(elementwise(F, name, build, oracle, SMALL, SMALL) for name, build, oracle in _COMPARISONS),
    *(
        elementwise(
            F, f"{name}_{other}", build, oracle, SMALL, SMALL, dtypes=_MIXED, fixed=(None, other), takes_all=False
        )
        for name, build, oracle in _COMPARISONS[:3]
        for other in ("int64", "uint64", "float32")
    ),
    elementwise(F, "isnan", tt.isnan, np.isnan, SMALL),
    elementwise(F, "isinf", tt.isinf, np.isinf, SMALL),
    elementwise(F, "isfinite", tt.isfinite, np.isfinite, SMALL),
    elementwise(F, "isposinf", tt.isposinf, lambda x: x == np.inf, SMALL),
    elementwise(F, "isneginf", tt.isneginf, lambda x: x == -np.inf, SMALL),
)
