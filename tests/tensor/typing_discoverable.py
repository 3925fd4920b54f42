"""What type checkers and editors see of names that load late; checked by mypy with everything else."""

from typing import assert_type

import treadle.tensor as tt
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.random.distributions.continuous import NormalRV

x = tt.dmatrix("x")
assert_type(tt.special.betainc, Elemwise)
assert_type(tt.special.softmax(x, axis=0), tt.TensorVariable)
assert_type(tt.random.normal, NormalRV)
assert_type(tt.linalg.cholesky(x), tt.TensorVariable)
assert_type(tt.fft.rfft(x), tt.TensorVariable)
assert_type(tt.optimize.minimize(x.sum(), x), tuple[tt.TensorVariable, tt.TensorVariable])
