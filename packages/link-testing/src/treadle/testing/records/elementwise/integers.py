"""Records of functions of integers."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import WIDE, Domain
from treadle.testing.records.elementwise.function_samples import elementwise
from treadle.testing.sample import INTEGERS, Sample

F = "integers"
# Least common multiples that every dtype holds.
_FACTORS = Domain(0.0, 11.0, special=False)

SAMPLES: tuple[Sample, ...] = (
    elementwise(F, "gcd", tt.gcd, np.gcd, WIDE, WIDE, dtypes=INTEGERS),
    elementwise(F, "lcm", tt.lcm, np.lcm, _FACTORS, _FACTORS, dtypes=("int8", "int64", "uint64"),
                takes_all=False),
    elementwise(F, "bitwise_count", tt.bitwise_count, np.bitwise_count, WIDE, dtypes=INTEGERS, takes_all=False),
    elementwise(F, "ceil_intdiv", tt.ceil_intdiv, lambda a, b: -(-a // b), _FACTORS, Domain(1.0, 5.0, special=False),
                dtypes=("int64",), takes_all=False),
)  # fmt: skip
