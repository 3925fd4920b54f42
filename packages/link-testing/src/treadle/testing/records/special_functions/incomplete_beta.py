"""Records of the incomplete beta function and its inverse."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from scipy import special

from treadle import tensor as tt
from treadle.testing.domain import Array, Domain
from treadle.testing.records.elementwise.function_samples import elementwise
from treadle.testing.sample import FLOATS, Function, Sample, costly
from treadle.testing.slopes import DIFFERENCES, integral, scalar_op, slope

F = "incomplete_beta"
_SHAPE = Domain(0.3, 6.0, special=False)
_ARGUMENT = Domain(0.1, 0.9, special=False)
_BEYOND_POLE = Domain(0.5, 6.0, special=False)
_MORE, _FEWER = Domain(2.0, 6.0, special=False), Domain(1.0, 3.0, special=False)
_LOWER = Domain(0.1, 0.3, special=False)
_derived = partial(elementwise, F, dtypes=("float64",), takes_all=False, kinds=("values",))
_by_a = slope(special.betainc, 0)


def _with_rest(name: str, *orders: float) -> Function:
    """Return a function of x that calls a scalar op with x and 1 - x."""
    return lambda a, b, x: scalar_op(name)(*orders, a, b, x, 1 - x)


def _density(a: Array, b: Array, x: Array) -> Array:
    return np.asarray(np.exp(special.xlogy(a - 1, x) + special.xlog1py(b - 1, -x) - special.betaln(a, b)))


def _moment(a: Array, b: Array, x: Array) -> Array:
    """Return the mixed moment of order 1 in one logarithm and 2 in the other."""
    a, b, x = (each[..., None] for each in np.broadcast_arrays(a, b, x))

    def integrand(u: Array) -> Array:
        t = special.expit(special.logit(x) - u)
        by_x, by_y = np.log(x / t), np.log1p(-t) - np.log1p(-x)
        return np.asarray(by_x * by_y**2 * np.exp(b * by_y - a * by_x))

    return integral(integrand, 60, parts=60)


SAMPLES: tuple[Sample, ...] = costly(
    ("jax-*",),
    elementwise(
        F, "betainc", tt.betainc, special.betainc, _SHAPE, _SHAPE, _ARGUMENT, dtypes=FLOATS, wrt=(0, 1, 2),
        takes_all=False, kinds=("values", "first", "second"),
    ),
    replace(
        elementwise(
            F, "betaincinv", tt.betaincinv, special.betaincinv, _SHAPE, _SHAPE, _ARGUMENT, dtypes=FLOATS,
            wrt=(0, 1, 2), order=1, takes_all=False, kinds=("values", "first"),
        ),
        # PyTorch has none.
        optional=True,
    ),
    # What derivatives are made of.
    _derived("beta_density", scalar_op("beta_density"), _density, _SHAPE, _SHAPE, _ARGUMENT),
    *(
        _derived(name, _with_rest(f"betainc_{name}"), oracle, _BEYOND_POLE, _BEYOND_POLE, _ARGUMENT,
                 tolerances=DIFFERENCES)
        for name, oracle in (
            ("by_shape", _by_a), ("by_shape_twice", slope(_by_a, 0)), ("by_both_shapes", slope(_by_a, 1)),
        )
    ),
    _derived("tail_moment", _with_rest("beta_tail_moment", 1.0, 2.0), _moment, _MORE, _FEWER, _LOWER),
)  # fmt: skip
