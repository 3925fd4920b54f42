"""Mixtures, zeros in excess, hurdles."""

from __future__ import annotations

import numpy as np
import pymc as pm

from tests.pymc.programs.registry import Results, evaluate, program


@program()
def normal_mixture() -> Results:
    """Three normal components, their means in order."""
    rng = np.random.default_rng(40)
    y = np.concatenate([rng.normal(-3, 1, 30), rng.normal(0, 0.5, 20), rng.normal(4, 1.5, 30)])
    with pm.Model() as model:
        weights = pm.Dirichlet("weights", np.ones(3))
        means = pm.Normal(
            "means",
            0,
            5,
            shape=3,
            transform=pm.distributions.transforms.ordered,
            initval=np.array([-2.0, 0.0, 2.0]),
        )
        scales = pm.HalfNormal("scales", 2, shape=3)
        pm.NormalMixture("y", weights, means, scales, observed=y)
    return evaluate(model)


@program()
def mixture_of_families() -> Results:
    """Components of two families, and one with vectors."""
    rng = np.random.default_rng(41)
    y = rng.normal(size=30)
    with pm.Model() as model:
        weights = pm.Dirichlet("weights", np.ones(2))
        scale = pm.Exponential("scale", 1)
        components = [pm.Normal.dist(0, scale), pm.StudentT.dist(3, mu=1, sigma=scale)]
        pm.Mixture("y", w=weights, comp_dists=components, observed=y)
        vectors = pm.MvNormal.dist(np.zeros((2, 3)), np.eye(3) * 2)
        pm.Mixture("z", w=weights, comp_dists=vectors, shape=(3,))
    return evaluate(model)


@program()
def dirichlet_process() -> Results:
    """A mixture whose weights break a stick."""
    rng = np.random.default_rng(42)
    y = rng.poisson([2] * 20 + [9] * 20)
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 1, 1)
        weights = pm.StickBreakingWeights("weights", alpha, K=4)
        rates = pm.Gamma("rates", 2, 0.5, shape=5)
        pm.Mixture("y", weights, pm.Poisson.dist(rates), observed=y)
    return evaluate(model)


@program()
def zero_inflated() -> Results:
    """Counts with more zeros than three families have."""
    rng = np.random.default_rng(43)
    y = rng.poisson(3, size=40) * rng.binomial(1, 0.6, size=40)
    with pm.Model() as model:
        psi = pm.Beta("psi", 1, 1, shape=3)
        rate = pm.Gamma("rate", 2, 1)
        pm.ZeroInflatedPoisson("y", psi[0], rate, observed=y)
        pm.ZeroInflatedBinomial("z", psi[1], 20, pm.Beta("p", 2, 2), observed=y)
        pm.ZeroInflatedNegativeBinomial("w", psi[2], mu=rate, alpha=pm.HalfNormal("alpha", 3), observed=y)
    return evaluate(model)


@program()
def hurdle() -> Results:
    """Zeros by one process, the rest by another."""
    rng = np.random.default_rng(44)
    y = (1 + rng.poisson(2, size=30)) * rng.binomial(1, 0.7, size=30)
    amounts = rng.gamma(2, 1, size=30) * rng.binomial(1, 0.7, size=30)
    with pm.Model() as model:
        psi = pm.Beta("psi", 2, 2)
        pm.HurdlePoisson("y", psi, pm.Gamma("rate", 2, 1), observed=y)
        pm.HurdleGamma("a", psi, alpha=pm.HalfNormal("alpha", 2), beta=1.0, observed=amounts)
        pm.HurdleLogNormal("b", psi, mu=pm.Normal("mu", 0, 1), sigma=1.0, observed=amounts)
    return evaluate(model)


@program()
def marginalised_switch() -> Results:
    """A change of the rate at an unknown time, summed over all times."""
    rng = np.random.default_rng(45)
    y = np.concatenate([rng.poisson(3, size=12), rng.poisson(1, size=8)])
    times = np.arange(20)
    with pm.Model() as model:
        early, late = pm.Exponential("early", 1), pm.Exponential("late", 1)
        rates = pm.math.switch(times[:, None] >= times[None, :], early, late)
        pieces = pm.logp(pm.Poisson.dist(rates), y[None, :]).sum(axis=1)
        pm.Potential("y", pm.math.logsumexp(pieces - np.log(20)))
    return evaluate(model)
