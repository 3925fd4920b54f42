"""Records of the gamma function and related functions."""

from __future__ import annotations

import numpy as np
from scipy import special

from treadle import tensor as tt
from treadle.testing.domain import POSITIVE, Array, Domain
from treadle.testing.records.elementwise.function_samples import elementwise
from treadle.testing.sample import FLOATS, Sample, costly

F = "gamma_functions"
_PLAIN = Domain(0.3, 4.0, special=False)
# Poles are at every integer up to 0.
_BETWEEN_POLES = Domain(-2.8, -2.2, special=False)
# PyTorch's compiler takes nearly a minute for all of them.
_KINDS = ("values", "first")
_SINGLE = {"float32": (2e-5, 2e-5)}


def _trigamma(x: Array) -> Array:
    dtype = "float32" if x.dtype == np.float32 else "float64"
    return np.asarray(special.polygamma(np.ones((), dtype), x))


def _orders(x: Array) -> tuple[Array, ...]:
    return tuple(special.polygamma(n, x) for n in (1, 2, 5))


SAMPLES: tuple[Sample, ...] = costly(
    ("jax-first", "pytorch-once"),
    elementwise(F, "gamma", tt.gamma, special.gamma, POSITIVE, wrt=(0,)),
    elementwise(F, "gammaln", tt.gammaln, special.gammaln, POSITIVE, wrt=(0,), tolerances=_SINGLE),
    elementwise(F, "digamma", tt.digamma, special.psi, POSITIVE, wrt=(0,), tolerances=_SINGLE),
    elementwise(
        F, "tri_gamma", tt.tri_gamma, _trigamma, POSITIVE, wrt=(0,)
    ),
    elementwise(
        F, "polygamma", lambda x: tuple(tt.polygamma(n, x) for n in (1, 2, 5)), _orders, POSITIVE, wrt=(0,),
        kinds=_KINDS,
    ),
    elementwise(
        F, "below_zero", lambda x: (
            tt.gamma(x), tt.gammaln(x), tt.digamma(x), tt.tri_gamma(x), tt.polygamma(4, x), tt.polygamma(0, x)
        ),
        lambda x: (
            special.gamma(x), special.gammaln(x), special.psi(x), _trigamma(x),
            special.polygamma(4, x), special.polygamma(0, x),
        ),
        _BETWEEN_POLES, dtypes=("float64",), wrt=(0,), takes_all=False, kinds=_KINDS,
    ),
    elementwise(
        F, "beta", tt.beta, special.beta, _PLAIN, _PLAIN, dtypes=FLOATS, wrt=(0, 1), takes_all=False, kinds=_KINDS
    ),
    elementwise(
        F, "betaln", tt.betaln, special.betaln, _PLAIN, _PLAIN, dtypes=FLOATS, wrt=(0, 1), tolerances=_SINGLE,
        takes_all=False, kinds=_KINDS,
    ),
    elementwise(
        F, "poch", tt.poch, special.poch, _PLAIN, _PLAIN, dtypes=FLOATS, wrt=(0, 1), takes_all=False, kinds=_KINDS
    ),
)  # fmt: skip
