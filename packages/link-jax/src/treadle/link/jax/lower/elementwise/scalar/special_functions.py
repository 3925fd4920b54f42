"""Special functions: JAX's own, with SciPy's values at poles and infinities, and what these are made into.

Bessel functions of other orders than 0 and 1 are computed by their integrals; the bodies of erfinv and log_ndtr are
more accurate than JAX's functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.nn import sigmoid
from jax.scipy import special

import treadle.tensor as tt
from treadle.graph import FunctionGraph
from treadle.link.jax.lower.elementwise.scalar.array_functions import FUNCTIONS, repeated
from treadle.link.jax.scalars import SCALARS, ScalarFunction
from treadle.tensor import SCALAR_OPS, ScalarOp, beta_tail_integral, gamma_tail_integral

for _name in ("i0", "i1", "gammaln", "digamma", "tri_gamma", "polygamma", "gammaincinv", "gammainccinv"):
    SCALARS.register(_name, {"f": getattr(FUNCTIONS, _name)})
for _name in ("i0e", "i1e", "ndtri", "poch"):
    SCALARS.register(_name, {"f": getattr(special, _name)})
SCALARS.register("betainc", {"f": special.betainc})
SCALARS.register("erf", {"f": lax.erf})
SCALARS.register("erfc", {"f": lax.erfc})
SCALARS.register("gamma_tail_moment", {"f": partial(gamma_tail_integral, jnp, repeat=repeated)})
SCALARS.register("beta_tail_moment", {"f": partial(beta_tail_integral, jnp, repeat=repeated)})


@SCALARS.function("gamma", kinds="f")
def _gamma(x: jax.Array) -> jax.Array:
    pole = (x == jnp.floor(x)) & (x < 0)
    return jnp.where(pole, jnp.nan, jnp.where(x == 0, jnp.copysign(jnp.inf, x), special.gamma(x)))


SCALARS.register("gammainc", {"f": lambda a, x: FUNCTIONS.at_ends(a, x, special.gammainc(a, x), 0.0)})
SCALARS.register("gammaincc", {"f": lambda a, x: FUNCTIONS.at_ends(a, x, special.gammaincc(a, x), 1.0)})

# The logit of the largest number below 1.
_LARGEST_LOGIT = 37.0


def _betaincinv(a: jax.Array, b: jax.Array, p: jax.Array) -> jax.Array:
    """By bisection for the logit."""
    logit = FUNCTIONS.bisected(lambda y: special.betainc(a, b, sigmoid(y)) < p, a, FUNCTIONS.LEAST, _LARGEST_LOGIT)
    x = jnp.where((p == 0) | (p == 1), p, sigmoid(logit))
    return jnp.where((a > 0) & (b > 0) & (p >= 0) & (p <= 1), x, jnp.nan)


SCALARS.register("betaincinv", {"f": _betaincinv})


@cache
def _expansion(name: str, dtypes: tuple[str, ...], ndim: int) -> Callable[..., tuple[jax.Array, ...]]:
    from treadle.link.jax.functional import jax_function

    operands = [tt.tensor(dtype=dtype, shape=(None,) * ndim) for dtype in dtypes]
    result = SCALAR_OPS[name].expansion(*operands)  # type: ignore[misc]  # it has one
    return jax_function(FunctionGraph(operands, [tt.as_tensor(result)]))


def _by_expansion(name: str, *operands: jax.Array) -> jax.Array:
    """Compute a function by its expression in tensors, as one step, so that JAX asks treadle for its derivative."""
    return _expansion(name, tuple(str(x.dtype) for x in operands), jnp.ndim(operands[0]))(*operands)[0]


def _expanded(scalar_op: ScalarOp, kind: str) -> ScalarFunction | None:
    """Return the function of a scalar op that has an expression in tensors, and none of JAX's.

    It is asked for each, since modules of functions are imported when something first names one.
    """
    name = scalar_op.name
    if kind != "f" or scalar_op.expansion is None or SCALARS.entries(name) or name not in SCALAR_OPS:
        return None
    return partial(_by_expansion, name)


SCALARS.find_by(ScalarOp, _expanded)
