"""A treadle function inside a JAX program: a gamma regression, optimised in one compiled loop and checked.

The data are the diabetes measurements that scikit-learn ships (442 patients, progress of the disease after a year).
treadle gives the log likelihood of a gamma distribution for each patient, and its quantiles by the inverse of the
incomplete gamma function, of which JAX has neither the function nor a derivative. ``f.jax_function`` makes both
functions of JAX arrays: ``jax.grad``, ``jax.vmap`` and ``jax.jit`` take them like any other. All steps of the optimiser
are one compiled loop: optax's Adam where optax is installed, else the BFGS of JAX's own library. JAX's ``check_grads``
compares gradients with differences.

Run it with ``./dev run python examples/inside_jax.py``.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.optimize import minimize
from jax.test_util import check_grads
from sklearn.datasets import load_diabetes

import treadle.tensor as tt
from treadle.compile import function

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = jax.Array

TRAINED = 331  # three quarters of the patients; the others are held out


def load() -> tuple[np.ndarray, np.ndarray]:
    """Return the measurements and a column of ones, standardised, and the progress in its mean."""
    data = load_diabetes()
    order = np.random.default_rng(0).permutation(len(data.target))
    features, target = data.data[order], data.target[order]
    features = features / features[:TRAINED].std(0)
    return np.column_stack([features, np.ones(len(features))]), target / target[:TRAINED].mean()


def likelihood_function() -> Any:
    """Return the mean log likelihood, given coefficients and the logarithm of the shape, features and values."""
    parameters, x, y = tt.dvector("parameters"), tt.dmatrix("x"), tt.dvector("y")
    log_mean, log_shape = x @ parameters[:-1], parameters[-1]
    shape = tt.exp(log_shape)
    density = shape * tt.log(shape * y) - shape * log_mean - tt.log(y) - shape * y * tt.exp(-log_mean)
    mean = (density - tt.gammaln(shape)).mean()
    made: Any = function([parameters, x, y], mean, mode="JAX", name="likelihood")
    return made.jax_function


def quantile_function() -> Any:
    """Return the quantile of the distribution for one row of features."""
    parameters, row, p = tt.dvector("parameters"), tt.dvector("row"), tt.dscalar("p")
    shape = tt.exp(parameters[-1])
    result = tt.gammaincinv(shape, p) * tt.exp(row @ parameters[:-1]) / shape
    made: Any = function([parameters, row, p], result, mode="JAX", name="quantile")
    return made.jax_function


def minimised(loss: Callable[[Array], Array], start: Array, steps: int) -> Array:
    """Return where a loss is least, found by so many steps in one compiled program."""
    if find_spec("optax") is None:
        return minimize(loss, start, method="BFGS", options={"maxiter": steps}).x
    optax: Any = import_module("optax")

    optimiser = optax.adam(0.05)

    def step(carry: tuple[Array, Any], _: None) -> tuple[tuple[Array, Any], None]:
        parameters, state = carry
        updates, state = optimiser.update(jax.grad(loss)(parameters), state)
        return (optax.apply_updates(parameters, updates), state), None

    run = jax.jit(lambda carry: jax.lax.scan(step, carry, None, steps)[0])
    found: Array = run((start, optimiser.init(start)))[0]
    return found


def main() -> int:
    """Optimise, check and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200, help="how many steps to take, at most")
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]  # JAX does not say
    features, target = load()
    seen, held = slice(None, TRAINED), slice(TRAINED, None)
    (likelihood, quantile), start = (likelihood_function(), quantile_function()), jnp.zeros(features.shape[1] + 1)

    def loss(parameters: Array) -> Any:
        return -likelihood(parameters, features[seen], target[seen])[0]

    found = minimised(loss, start, given.steps)
    before, after = (float(likelihood(at, features[held], target[held])[0]) for at in (start, found))
    print(f"log likelihood of a patient held out: {before:.3f} at the start, {after:.3f} at the optimum")

    def upper(parameters: Array, row: Any) -> Any:
        return quantile(parameters, row, 0.9)[0]

    below = jax.vmap(upper, (None, 0))(found, features[held]) > target[held]
    print(f"patients held out below their quantile of 90 %: {below.mean():.0%}")
    slopes = jax.jit(jax.vmap(jax.grad(upper, 1), (None, 0)))(found, features[held]).mean(0)[:-1]
    strongest = sorted(zip(load_diabetes().feature_names, slopes, strict=True), key=lambda pair: -abs(pair[1]))[:3]
    print("what moves that quantile most:", ", ".join(f"{name} {slope:+.3f}" for name, slope in strongest))
    check: Any = check_grads
    check(loss, (found,), order=2, modes=["fwd", "rev"])
    check(lambda at: upper(at, features[0]), (found,), order=1, modes=["rev"])
    print("gradients agree with differences")
    return 0 if after > before else 1


if __name__ == "__main__":
    sys.exit(main())
