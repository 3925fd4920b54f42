"""The gamma function and functions made of it."""

from __future__ import annotations

from treadle.tensor.dtype_rules import double_first
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.scalar.arithmetic import scaled_by
from treadle.tensor.scalar.scipy_special import of_scipy
from treadle.tensor.scalar_op import ScalarOp

__all__ = ["digamma", "gammaln", "psi"]

gammaln = Elemwise(
    ScalarOp(
        name="gammaln", nin=1, dtypes=double_first, impl=of_scipy("gammaln"),
        pullback=scaled_by(lambda out, x: digamma(x)),
    )
)  # fmt: skip
digamma: Elemwise = Elemwise(
    ScalarOp(
        name="digamma", nin=1, dtypes=double_first, impl=of_scipy("psi"),
    )
)  # fmt: skip

psi = digamma
