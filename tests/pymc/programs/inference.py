"""Samplers and variational methods, few steps of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm

from tests.pymc.programs.registry import Results, posterior, program

QUIET: dict[str, Any] = {"progressbar": False, "compute_convergence_checks": False}
ONE_CHAIN: dict[str, Any] = {"chains": 1, "cores": 1, **QUIET}


def _normal() -> Any:
    with pm.Model() as model:
        mu, sigma = pm.Normal("mu", 0, 1), pm.HalfNormal("sigma", 1)
        pm.Normal("y", mu, sigma, observed=[0.2, 1.1, -0.3, 0.8])
    return model


@program()
def nuts() -> Results:
    """NUTS in two chains, one after the other."""
    with _normal():
        trace = pm.sample(8, tune=8, chains=2, cores=1, init="adapt_diag", random_seed=1, **QUIET)
    return posterior(trace, "mu", "sigma")


@program()
def hamiltonian() -> Results:
    """Hamiltonian Monte Carlo with a fixed length of path."""
    with _normal():
        trace = pm.sample(8, tune=8, step=pm.HamiltonianMC(path_length=1.0), random_seed=2, **ONE_CHAIN)
    return posterior(trace, "mu", "sigma")


@program()
def metropolis() -> Results:
    """Metropolis steps for numbers, and for whole numbers."""
    with pm.Model():
        n = pm.Poisson("n", 5)
        x = pm.Normal("x", n, 1, shape=2)
        pm.Normal("y", x, 1, observed=[4.0, 6.0])
        trace = pm.sample(20, tune=20, step=pm.Metropolis(), random_seed=3, **ONE_CHAIN)
    return posterior(trace, "n", "x")


@program()
def slice_sampler() -> Results:
    """Slices of each variable."""
    with _normal():
        trace = pm.sample(10, tune=10, step=pm.Slice(), random_seed=4, **ONE_CHAIN)
    return posterior(trace, "mu", "sigma")


@program()
def compound_steps() -> Results:
    """A step of its own for each kind of variable, as PyMC assigns them."""
    with pm.Model():
        switch = pm.Bernoulli("switch", 0.4)
        kind = pm.Categorical("kind", [0.2, 0.3, 0.5])
        count = pm.Poisson("count", 3)
        mu = pm.Normal("mu", switch + kind, 1)
        pm.Normal("y", mu + count, 1, observed=[4.0, 5.0])
        trace = pm.sample(20, tune=20, init="adapt_diag", random_seed=5, **ONE_CHAIN)
    return posterior(trace, "switch", "kind", "count", "mu")


@program()
def binary_steps() -> Results:
    """Steps for values of two and of several kinds."""
    with pm.Model():
        flags = pm.Bernoulli("flags", 0.3, shape=3)
        kinds = pm.Categorical("kinds", [0.2, 0.3, 0.5], shape=2)
        pm.Normal("y", flags.sum() + kinds.sum(), 1, observed=2.5)
        steps = [pm.BinaryMetropolis([flags]), pm.CategoricalGibbsMetropolis([kinds])]
        trace = pm.sample(15, tune=5, step=steps, random_seed=6, **ONE_CHAIN)
    return posterior(trace, "flags", "kinds")


@program()
def differential_evolution() -> Results:
    """Steps that look at the chain's own past."""
    with _normal():
        trace = pm.sample(15, tune=15, step=pm.DEMetropolisZ(), random_seed=7, **ONE_CHAIN)
    return posterior(trace, "mu", "sigma")


@program()
def sequential_monte_carlo() -> Results:
    """Particles that move from the prior to the posterior."""
    with _normal():
        trace = pm.sample_smc(30, chains=1, cores=1, random_seed=8, **QUIET)
    return posterior(trace, "mu", "sigma")


@program()
def simulator() -> Results:
    """A likelihood by simulation: distances of what is simulated from what was observed."""
    observed = np.random.default_rng(120).normal(1, 1, size=20)

    def simulate(rng: Any, mu: Any, sigma: Any, size: Any = None) -> Any:
        return rng.normal(mu, sigma, size=size)

    with pm.Model():
        mu, sigma = pm.Normal("mu", 0, 1), pm.HalfNormal("sigma", 1)
        pm.Simulator("y", simulate, params=(mu, sigma), sum_stat="sort", epsilon=1.0, observed=observed)
        trace = pm.sample_smc(20, chains=1, cores=1, random_seed=9, **QUIET)
    return posterior(trace, "mu", "sigma")


@program(tolerance=1e-8, reason="200 steps of an optimiser, each of which adds its rounding")
def variational() -> Results:
    """A normal approximation without correlations, and one with them."""
    with _normal():
        diagonal = pm.fit(200, method="advi", random_seed=10, progressbar=False)
        full = pm.fit(100, method="fullrank_advi", random_seed=10, progressbar=False)
    return {
        "mean": diagonal.mean.eval(),
        "std": diagonal.std.eval(),
        "loss": np.asarray(diagonal.hist[::20]),
        "full_mean": full.mean.eval(),
        "full_cov": full.cov.eval(),
    }


@program(tolerance=1e-8, reason="100 steps of an optimiser, each of which adds its rounding")
def variational_minibatch() -> Results:
    """A normal approximation learnt from minibatches."""
    rng = np.random.default_rng(121)
    x, y = rng.normal(size=200), rng.normal(size=200)
    with pm.Model():
        xs, ys = pm.Minibatch(x, y, batch_size=20)
        slope = pm.Normal("slope", 0, 1)
        pm.Normal("y", slope * xs, 1, observed=ys, total_size=200)
        approximation = pm.fit(100, method="advi", random_seed=11, progressbar=False)
    return {"mean": approximation.mean.eval(), "std": approximation.std.eval()}


@program(tolerance=1e-8, reason="50 steps of an optimiser, each of which adds its rounding")
def stein() -> Results:
    """Particles moved by Stein's variational gradient."""
    # The particles start from NumPy's generator of the process.
    np.random.seed(12)  # noqa: NPY002 - as above
    with _normal():
        approximation = pm.fit(
            50, method="svgd", inf_kwargs={"n_particles": 8, "jitter": 0.5}, random_seed=12, progressbar=False
        )
    return {"mean": approximation.mean.eval()}
