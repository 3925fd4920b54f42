"""What type checkers and editors see of names that load late; checked by mypy with everything else."""

from typing import Any, assert_type

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
v = tt.dvector("v")
cost = (v**2).sum()
assert_type(tt.grad(cost, v), tt.TensorVariable)
assert_type(tt.grad(cost, [v, x]), list[tt.TensorVariable])
assert_type(tt.grad(cost, [v], disconnected_inputs="ignore"), list[tt.TensorVariable])
assert_type(tt.value_and_grad(cost, v), tuple[tt.TensorVariable, tt.TensorVariable])
assert_type(tt.value_and_grad(cost, [v]), tuple[tt.TensorVariable, list[tt.TensorVariable]])
assert_type(tt.shared(0.0), tt.TensorSharedVariable)
assert_type(tt.shared([1.0, 2.0], name="w").get_value(), Any)
assert_type(tt.shared(object()), Any)
