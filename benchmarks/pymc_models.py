"""The models of PyMC that are measured, each of a size that users have. Data that are not real have a seed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt

if TYPE_CHECKING:
    from collections.abc import Callable

# Beside the example that fits them.
RADON = Path(__file__).parent.parent / "examples/radon.tsv"


def eight_schools() -> Any:
    """Return Rubin's eight schools, their effects as standard normals that are moved and scaled."""
    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        raw = pm.Normal("raw", 0, 1, shape=8)
        pm.Normal("y", mu + tau * raw, errors, observed=effects)
    return model


def radon() -> Any:
    """Return radon in 919 houses of 85 counties: levels and effects of floors by county, which vary together."""
    houses = []
    lines = RADON.read_text(encoding="utf-8").splitlines()[1:]
    for number, line in enumerate(lines):
        _, level, *floors = line.split("\t")
        houses += [(number, floor, float(level), float(x)) for floor in (0, 1) for x in floors[floor].split()]
    county, floor, uranium, measured = np.array(houses).T
    county = county.astype("int64")
    with pm.Model() as model:
        chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
        mean, slope = pm.Normal("mean", 0, 5, shape=2), pm.Normal("uranium", 0, 1)
        effects = mean + pt.dot(chol, pm.Normal("raw", 0, 1, shape=(2, len(lines)))).T
        mu = effects[county, 0] + slope * uranium + effects[county, 1] * floor
        pm.Normal("y", mu, pm.Exponential("sigma", 1), observed=np.log(measured))
    return model


def logistic_regression() -> Any:
    """Return a logistic regression of 1,000 answers on 10 predictors."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1_000, 10))
    y = rng.binomial(1, 1 / (1 + np.exp(-x @ rng.normal(size=10))))
    with pm.Model() as model:
        intercept, slopes = pm.Normal("intercept", 0, 2.5), pm.Normal("slopes", 0, 1, shape=10)
        pm.Bernoulli("y", logit_p=intercept + pt.dot(x, slopes), observed=y)
    return model


def gaussian_process() -> Any:
    """Return a Gaussian process of 100 observations, its latent values integrated out."""
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(0, 10, size=100))[:, None]
    y = np.sin(x[:, 0]) + 0.3 * rng.normal(size=100)
    with pm.Model() as model:
        length, eta = pm.Gamma("length", 2, 1), pm.HalfNormal("eta", 2)
        gp = pm.gp.Marginal(cov_func=eta**2 * pm.gp.cov.Matern52(1, length))
        gp.marginal_likelihood("y", X=x, y=y, sigma=pm.HalfNormal("sigma", 1))
    return model


def stochastic_volatility() -> Any:
    """Return 500 returns whose volatility walks."""
    rng = np.random.default_rng(3)
    returns = np.exp(-4 + np.cumsum(0.1 * rng.normal(size=500))) * rng.standard_t(5, size=500)
    with pm.Model() as model:
        step, nu = pm.Exponential("step", 10), pm.Exponential("nu", 0.1)
        raw = pm.Normal("raw", 0, 1, shape=500)
        volatility = pm.Normal("start", -4, 1) + pt.cumsum(raw) * step
        pm.StudentT("returns", nu=nu, mu=0, sigma=pt.exp(volatility), observed=returns)
    return model


def state_space() -> Any:
    """Return 120 months as level, slope and four harmonics of the year: ten states, summed out by a Kalman filter."""
    rng = np.random.default_rng(4)
    months = np.arange(120)
    y = 0.05 * months + 2 * np.cos(2 * np.pi * months / 12) + rng.normal(size=120).cumsum() * 0.2 + rng.normal(size=120)
    blocks = [np.array([[1.0, 1.0], [0.0, 1.0]])]
    for k in range(1, 5):
        c, s = np.cos(2 * np.pi * k / 12), np.sin(2 * np.pi * k / 12)
        blocks.append(np.array([[c, s], [-s, c]]))
    move = np.zeros((10, 10))
    for i, block in enumerate(blocks):
        move[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = block
    seen = np.tile([1.0, 0.0], 5)

    def step(observed: Any, mean: Any, cov: Any, noise: Any, error: Any, move: Any, seen: Any) -> list[Any]:
        predicted, spread = move @ mean, move @ cov @ move.T + noise
        shared = spread @ seen
        variance = seen @ shared + error
        gain, surprise = shared / variance, observed - seen @ predicted
        term = -0.5 * (pt.log(2 * np.pi * variance) + surprise**2 / variance)
        return [predicted + gain * surprise, spread - pt.outer(gain, shared), term]

    with pm.Model() as model:
        scales, error = pm.HalfNormal("scales", 0.5, shape=3), pm.HalfNormal("error", 1)
        noise = pt.diag(pt.concatenate([scales[:2], pt.repeat(scales[2], 8)]) ** 2)
        outputs, _ = pytensor.scan(
            step,
            sequences=[pt.as_tensor(y)],
            outputs_info=[pt.zeros(10), pt.eye(10) * 10.0, None],
            non_sequences=[noise, error**2, pt.as_tensor(move), pt.as_tensor(seen)],
        )
        pm.Potential("y", outputs[2].sum())
    return model


CASES: dict[str, Callable[[], Any]] = {
    "eight_schools": eight_schools,
    "radon": radon,
    "logistic": logistic_regression,
    "gp": gaussian_process,
    "volatility": stochastic_volatility,
    "state_space": state_space,
}
