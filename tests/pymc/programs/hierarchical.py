"""Hierarchical models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from tests.pymc.programs.registry import Results, evaluate, posterior, program

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
SCHOOLS = ["Choate", "Deerfield", "Andover", "Exeter", "Hotchkiss", "Lawrenceville", "Mt. Hermon", "St. Paul's"]


def schools() -> Any:
    """Return the model of eight schools, its effects around their mean."""
    with pm.Model(coords={"school": SCHOOLS}) as model:
        mu = pm.Normal("mu", 0, sigma=10)
        tau = pm.HalfCauchy("tau", beta=5)
        raw = pm.Normal("raw", 0, 1, dims="school")
        theta = pm.Deterministic("theta", mu + tau * raw, dims="school")
        pm.Normal("y", theta, sigma=ERRORS, observed=EFFECTS, dims="school")
    return model


@program()
def eight_schools_centred() -> Results:
    """Effects of schools drawn from their common distribution."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, sigma=5)
        tau = pm.HalfCauchy("tau", beta=5)
        theta = pm.Normal("theta", mu, tau, shape=8)
        pm.Normal("y", theta, sigma=ERRORS, observed=EFFECTS)
    return evaluate(model)


@program()
def eight_schools() -> Results:
    """Effects of schools as standard normals, moved and scaled; the first draws of NUTS, the tuned ones among them."""
    model = schools()
    with model:
        trace = pm.sample(
            10,
            tune=10,
            chains=1,
            cores=1,
            init="adapt_diag",
            random_seed=3,
            progressbar=False,
            compute_convergence_checks=False,
            discard_tuned_samples=False,
        )
    return evaluate(model) | posterior(trace, "mu", "tau", "theta")


def radon_data(counties: int = 12, houses: int = 150) -> dict[str, np.ndarray]:
    """Return data as those of radon in houses: county, floor, uranium of the county, logarithm of radon."""
    rng = np.random.default_rng(20)
    county = rng.integers(0, counties, size=houses)
    floor = rng.binomial(1, 0.2, size=houses).astype("float64")
    uranium = rng.normal(size=counties)
    level = 1.4 + 0.6 * uranium + rng.normal(0, 0.3, size=counties)
    radon = level[county] - 0.7 * floor + rng.normal(0, 0.7, size=houses)
    return {"county": county, "floor": floor, "uranium": uranium, "radon": radon}


@program()
def radon_varying_slopes() -> Results:
    """Levels and effects of floors by county, which vary together."""
    data = radon_data()
    with pm.Model(coords={"county": np.arange(12), "effect": ["level", "floor"]}) as model:
        county, floor = pm.Data("county_of", data["county"]), pm.Data("floor", data["floor"])
        chol, _corr, _stds = pm.LKJCholeskyCov(
            "chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0), compute_corr=True
        )
        mean = pm.Normal("mean", 0, 5, dims="effect")
        slope = pm.Normal("uranium", 0, 1)
        raw = pm.Normal("raw", 0, 1, dims=("effect", "county"))
        effects = pm.Deterministic("effects", pt.dot(chol, raw).T + mean, dims=("county", "effect"))
        mu = effects[county, 0] + slope * data["uranium"][data["county"]] + effects[county, 1] * floor
        sigma = pm.Exponential("sigma", 1.0)
        pm.Normal("y", mu, sigma, observed=data["radon"])
    return evaluate(model)


@program()
def radon_centred() -> Results:
    """Levels and effects of floors by county as normal vectors around their mean."""
    data = radon_data()
    with pm.Model() as model:
        chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=1.5, sd_dist=pm.HalfNormal.dist([0.5, 1.0]))
        mean = pm.Normal("mean", [1.0, 0.0], [1.0, 2.0], shape=2)
        effects = pm.MvNormal("effects", mu=mean, chol=chol, shape=(12, 2))
        mu = effects[data["county"], 0] + effects[data["county"], 1] * data["floor"]
        pm.Normal("y", mu, pm.HalfNormal("sigma", 1), observed=data["radon"])
    return evaluate(model)


@program()
def crossed_groups() -> Results:
    """Binomial counts in two crossed groups that sum to zero."""
    rng = np.random.default_rng(21)
    first, second = np.repeat(np.arange(5), 4), np.tile(np.arange(4), 5)
    trials = rng.integers(5, 30, size=20)
    successes = rng.binomial(trials, 0.3)
    with pm.Model(coords={"row": range(5), "column": range(4)}) as model:
        scale = pm.HalfNormal("scale", 1, shape=2)
        rows = pm.ZeroSumNormal("rows", scale[0], dims="row")
        columns = pm.ZeroSumNormal("columns", scale[1], dims="column")
        level = pm.Logistic("level", 0, 1)
        pm.Binomial("y", n=trials, logit_p=level + rows[first] + columns[second], observed=successes)
    return evaluate(model)


@program()
def beta_binomial_rats() -> Results:
    """Shares of tumours in groups of rats, a density given by a potential."""
    rng = np.random.default_rng(22)
    sizes = rng.integers(10, 40, size=15)
    tumours = rng.binomial(sizes, 0.15)
    with pm.Model() as model:
        ab = pm.HalfFlat("ab", shape=2, initval=np.array([1.0, 5.0]))
        pm.Potential("prior", -2.5 * pt.log(pt.sum(ab)))
        pm.BetaBinomial("y", alpha=ab[0], beta=ab[1], n=sizes, observed=tumours)
    return evaluate(model)
