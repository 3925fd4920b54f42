"""Records of bitwise and logical functions."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import SMALL, WIDE, Domain
from treadle.testing.records.elementwise.function_samples import elementwise
from treadle.testing.sample import DISCRETE, Sample

F = "logic"
# Shifts by as many bits as there are, and by more.
SHIFTS = Domain(0.0, 70.0)

SAMPLES: tuple[Sample, ...] = (
    elementwise(F, "and", tt.bitwise_and, np.bitwise_and, WIDE, WIDE, dtypes=DISCRETE),
    elementwise(F, "or", tt.bitwise_or, np.bitwise_or, WIDE, WIDE, dtypes=DISCRETE),
    elementwise(F, "xor", tt.bitwise_xor, np.bitwise_xor, WIDE, WIDE, dtypes=DISCRETE),
    elementwise(F, "invert", tt.invert, np.invert, WIDE, dtypes=DISCRETE),
    elementwise(F, "left_shift", tt.left_shift, np.left_shift, WIDE, SHIFTS, dtypes=DISCRETE),
    elementwise(F, "right_shift", tt.right_shift, np.right_shift, WIDE, SHIFTS, dtypes=DISCRETE),
    elementwise(F, "logical_and", tt.logical_and, np.logical_and, SMALL, SMALL),
    elementwise(F, "logical_or", tt.logical_or, np.logical_or, SMALL, SMALL),
    elementwise(F, "logical_xor", tt.logical_xor, np.logical_xor, SMALL, SMALL),
    elementwise(F, "logical_not", tt.logical_not, np.logical_not, SMALL),
)
