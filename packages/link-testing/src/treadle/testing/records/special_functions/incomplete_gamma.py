"""Records of the incomplete gamma functions and their inverses."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import special

from treadle import tensor as tt
from treadle.testing.domain import Array, Domain
from treadle.testing.records.elementwise.function_samples import elementwise
from treadle.testing.sample import FLOATS, Sample, costly
from treadle.testing.slopes import DIFFERENCES, integral, scalar_op, slope

F = "incomplete_gamma"
_SHAPE = Domain(0.3, 6.0)
_ARGUMENT = Domain(0.3, 6.0)
# SciPy returns numbers for some shapes and probabilities outside of the domain.
_PROBABILITY = Domain(0.1, 0.9, special=False)
_POSITIVE = Domain(0.3, 6.0, special=False)
_BEYOND_POLE = Domain(0.5, 6.0, special=False)
_ABOVE_ONE = Domain(1.0, 6.0, special=False)
_ORDERS = (0.0, 1.0, 2.0)
_by_shape = slope(special.gammainc, 0)
_derived = partial(elementwise, F, dtypes=("float64",), takes_all=False, kinds=("values",))


def _density(a: Array, x: Array) -> Array:
    return np.asarray(np.exp(special.xlogy(a - 1, x) - x - special.gammaln(a)))


def _moments(a: Array, x: Array) -> tuple[Array, ...]:
    side = np.where(x <= a, 1.0, -1.0)[..., None]
    a, x = a[..., None], x[..., None]

    def integrand(u: Array, order: float) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(u**order * np.exp(-side * a * u - x * np.expm1(-side * u)))

    return tuple(integral(partial(integrand, order=order), 60, parts=60) for order in _ORDERS)


SAMPLES: tuple[Sample, ...] = costly(
    ("jax-first",),
    elementwise(
        F, "gammainc", tt.gammainc, special.gammainc, _SHAPE, _ARGUMENT, dtypes=FLOATS, wrt=(0, 1), takes_all=False,
        kinds=("values", "first", "second"),
    ),
    elementwise(
        F, "gammaincc", tt.gammaincc, special.gammaincc, _SHAPE, _ARGUMENT, dtypes=FLOATS, wrt=(0, 1), takes_all=False,
        kinds=("values", "first", "second"),
    ),
    elementwise(
        F, "gammaincinv", tt.gammaincinv, special.gammaincinv, _POSITIVE, _PROBABILITY, dtypes=FLOATS, wrt=(0, 1),
        order=1, takes_all=False, kinds=("values", "first"),
    ),
    elementwise(
        F, "gammainccinv", tt.gammainccinv, special.gammainccinv, _POSITIVE, _PROBABILITY, dtypes=FLOATS, wrt=(0, 1),
        order=1, takes_all=False, kinds=("values", "first"),
    ),
    # What derivatives are made of.
    _derived("gamma_density", scalar_op("gamma_density"), _density, _POSITIVE, _POSITIVE),
    _derived("by_shape", scalar_op("gammainc_by_shape"), _by_shape, _BEYOND_POLE, _POSITIVE, tolerances=DIFFERENCES),
    _derived("by_shape_twice", scalar_op("gammainc_by_shape_twice"), slope(_by_shape, 0), _BEYOND_POLE, _POSITIVE,
             tolerances=DIFFERENCES),
    _derived("tail_moments", lambda a, x: tuple(scalar_op("gamma_tail_moment")(k, a, x) for k in _ORDERS), _moments,
             _ABOVE_ONE, _ABOVE_ONE),
)  # fmt: skip
