"""Cases for the rules of boolean masks."""

from __future__ import annotations

import treadle.tensor as tt
from tests.tensor_rewrites.expressions import Case

CASES = [
    Case("check_of_fitting_mask", lambda v: v.x[v.x > 0], "advancedsubtensor{[array]}(x, nonzero(gt(x, [0.0])))"),
    Case("length_of_nonzero", lambda v: tt.nonzero(v.m > 0)[1].shape[0], "sum{axes=[0, 1]}(gt(m, [[0.0]]))"),
    Case("reduction_of_masked", lambda v: v.m[v.m > 0].prod(), "prod{axes=[0, 1]}(switch(gt(m, [[0.0]]), m, [[1.0]]))"),
    Case("write_of_masked", lambda v: v.m[v.m > 0].inc(v.m[v.m > 0]), "switch(gt(m, [[0.0]]), mul([[2.0]], m), m)"),
]
