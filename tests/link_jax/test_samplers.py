"""Samplers written for JAX run on a log density of treadle's, through ``f.jax_function``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import treadle.tensor as tt
import treadle.tensor.random as tr
from treadle.compile import function

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = np.random.default_rng(0).normal(1.5, 2.0, size=200)
# Of the mean and of the logarithm of the deviation, given the data, up to the breadth of the priors.
MEANS = (float(DATA.mean()), float(np.log(DATA.std())))
DEVIATIONS = (float(DATA.std() / np.sqrt(200)), float(1 / np.sqrt(400)))


def log_density() -> Callable[[Any], Any]:
    at = tt.dvector("at")
    mean, log_deviation = at[0], at[1]
    prior = tr.normal.logpdf(mean, 0.0, 10.0) + tr.normal.logpdf(log_deviation, 0.0, 2.0)
    likelihood = tr.normal.logpdf(DATA, mean, tt.exp(log_deviation)).sum()
    compiled: Any = function([at], prior + likelihood, mode="JAX")
    return lambda value: compiled.jax_function(value)[0]


def hamiltonian(density: Callable[[Any], Any]) -> Any:
    """Return draws of Hamiltonian Monte Carlo, all steps in one compiled loop."""
    slope, step = jax.grad(density), 0.03

    def leapfrog(state: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
        at, momentum = state
        momentum = momentum + step / 2 * slope(at)
        at = at + step * momentum
        return (at, momentum + step / 2 * slope(at)), None

    def draw(at: Any, key: Any) -> tuple[Any, Any]:
        first, second = jax.random.split(key)
        momentum = jax.random.normal(first, at.shape)
        (new, final), _ = jax.lax.scan(leapfrog, (at, momentum), None, 12)
        gain = density(new) - density(at) - (final**2 - momentum**2).sum() / 2
        at = jnp.where(jnp.log(jax.random.uniform(second)) < gain, new, at)
        return at, at

    return jax.jit(lambda start, keys: jax.lax.scan(draw, start, keys)[1])(
        jnp.array([1.0, 0.5]), jax.random.split(jax.random.key(0), 1500)
    )


def blackjax_draws(density: Callable[[Any], Any]) -> Any:
    blackjax = pytest.importorskip("blackjax")
    warmup = blackjax.window_adaptation(blackjax.nuts, density)
    (state, parameters), _ = warmup.run(jax.random.key(0), jnp.zeros(2), 400)
    kernel = blackjax.nuts(density, **parameters)

    def draw(state: Any, key: Any) -> tuple[Any, Any]:
        state, _ = kernel.step(key, state)
        return state, state.position

    return jax.lax.scan(draw, state, jax.random.split(jax.random.key(1), 1000))[1]


def numpyro_draws(density: Callable[[Any], Any]) -> Any:
    infer = pytest.importorskip("numpyro.infer")
    kernel = infer.NUTS(potential_fn=lambda at: -density(at))
    chain = infer.MCMC(kernel, num_warmup=400, num_samples=1000, progress_bar=False)
    chain.run(jax.random.key(2), init_params=jnp.zeros(2))
    return chain.get_samples()


@pytest.mark.parametrize("draws", [hamiltonian, blackjax_draws, numpyro_draws])
def test_draws_are_those_of_the_distribution(draws: Callable[[Callable[[Any], Any]], Any]) -> None:
    with jax.enable_x64(True):
        drawn = np.asarray(draws(log_density()))[200:]
    for k, (mean, deviation) in enumerate(zip(MEANS, DEVIATIONS, strict=True)):
        assert abs(drawn[:, k].mean() - mean) < 0.4 * deviation
        assert 0.75 < drawn[:, k].std() / deviation < 1.33
