"""Times until an event, censored and truncated values, values that are missing."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from tests.pymc.programs.registry import NARROW, Results, evaluate, program


@program()
def weibull_censored() -> Results:
    """Weibull times, some of which are only known to be longer, by the survival function in a potential."""
    rng = np.random.default_rng(70)
    x = rng.normal(size=40)
    times = rng.weibull(1.5, size=40) * np.exp(0.3 * x)
    seen = times < 1.5
    times = np.minimum(times, 1.5)
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 2, 1)
        level, slope = pm.Normal("level", 0, 1), pm.Normal("slope", 0, 1)
        scale = pm.math.exp(level + slope * x)
        pm.Weibull("seen", alpha, scale[seen], observed=times[seen])
        pm.Potential("longer", -((times[~seen] / scale[~seen]) ** alpha))
    return evaluate(model)


@program()
def censored() -> Results:
    """Values cut off at both ends, of two families."""
    rng = np.random.default_rng(71)
    y = np.clip(rng.normal(0.5, 1.2, size=40), -1, 2)
    with pm.Model() as model:
        mu, sigma = pm.Normal("mu", 0, 1), pm.HalfNormal("sigma", 1)
        pm.Censored("y", pm.Normal.dist(mu, sigma), lower=-1, upper=2, observed=y)
        times = pm.Weibull.dist(1.5, sigma)
        pm.Censored("t", times, lower=None, upper=1.0, observed=np.minimum(rng.weibull(1.5, size=20), 1.0))
    return evaluate(model)


@program(tolerance=1e-8, reason=NARROW)
def truncated() -> Results:
    """Values that were seen only in a range."""
    rng = np.random.default_rng(72)
    y = rng.uniform(0, 2, size=30)
    with pm.Model() as model:
        mu, sigma = pm.Normal("mu", 0, 1), pm.HalfNormal("sigma", 1)
        pm.TruncatedNormal("y", mu, sigma, lower=0, upper=2, observed=y)
        pm.Truncated("z", pm.Gamma.dist(2, 1), lower=0.5, upper=5, observed=y[:5] + 0.6)
        pm.Truncated("latent", pm.StudentT.dist(5, mu=mu, sigma=sigma), upper=3)
    return evaluate(model)


@program()
def cox_by_poisson() -> Results:
    """A proportional hazard in intervals, as a Poisson regression."""
    rng = np.random.default_rng(73)
    intervals, patients = 6, 20
    exposure = rng.uniform(0, 1, size=(patients, intervals))
    death = rng.binomial(1, 0.1, size=(patients, intervals))
    treated = rng.binomial(1, 0.5, size=patients)
    with pm.Model() as model:
        base = pm.Gamma("base", 0.5, 0.5, shape=intervals)
        effect = pm.Normal("effect", 0, 2)
        hazard = pt.outer(pt.exp(effect * treated), base)
        pm.Poisson("y", exposure * hazard + 1e-9, observed=death)
    return evaluate(model)


@program()
def missing_values() -> Results:
    """Missing numbers and missing counts become variables."""
    rng = np.random.default_rng(74)
    y = rng.normal(size=15)
    y[[2, 7, 8]] = np.nan
    counts = np.ma.masked_equal(np.array([3, 1, -1, 4, -1, 2]), -1)
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        pm.Normal("y", mu, 1, observed=y)
        pm.Poisson("n", pm.math.exp(mu), observed=counts)
    return evaluate(model)


@program()
def missing_predictors() -> Results:
    """A table with holes as a multivariate predictor."""
    rng = np.random.default_rng(75)
    x = rng.normal(size=(20, 2))
    x[rng.binomial(1, 0.2, size=(20, 2)) == 1] = np.nan
    y = rng.normal(size=20)
    with pm.Model() as model:
        means = pm.Normal("means", 0, 1, shape=2)
        table = pm.Normal("table", means, 1, observed=np.ma.masked_invalid(x), shape=(20, 2))
        slopes = pm.Normal("slopes", 0, 1, shape=2)
        pm.Normal("y", table @ slopes, pm.Exponential("sigma", 1), observed=y)
    return evaluate(model)
