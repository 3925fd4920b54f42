"""Records of ops that change gradients; their effect on gradients has its own tests."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import WIDE
from treadle.testing.operands import of_shape
from treadle.testing.sample import Sample

F = "gradient_control"
_ANY = of_shape((3, 4), broadcast=(1, 4), empty=(0, 4), long=(11, 97), domain=WIDE)

SAMPLES: tuple[Sample, ...] = (
    Sample("disconnected_grad", F, tt.disconnected_grad, np.array, (_ANY,)),
    Sample("zero_grad", F, lambda x: tt.zero_grad(x) * x, lambda x: x * x, (_ANY,)),
    Sample("undefined_grad", F, lambda x: tt.undefined_grad(x) + x, lambda x: x + x, (_ANY,)),
    Sample("grad_scale", F, lambda x: tt.grad_scale(x, 1.0), np.array, (_ANY,), wrt=(0,)),
    Sample("grad_clip", F, lambda x: tt.grad_clip(x, -np.inf, np.inf), np.array, (_ANY,), wrt=(0,)),
)
