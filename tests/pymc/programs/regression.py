"""Regressions."""

from __future__ import annotations

import numpy as np
import pymc as pm

from tests.pymc.programs.registry import Results, evaluate, program


def _design(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)), rng


@program()
def normal() -> Results:
    """The mean and the scale of a sample."""
    observed = np.random.default_rng(0).normal(1.5, 2.0, size=50)
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 10)
        sigma = pm.HalfNormal("sigma", 5)
        pm.Normal("y", mu, sigma, observed=observed)
    return evaluate(model)


@program()
def linear_robust() -> Results:
    """Errors with heavy tails, whose degrees of freedom are unknown."""
    x, rng = _design(60, 2, 1)
    y = x @ [1.0, -0.5] + rng.standard_t(3, size=60)
    with pm.Model() as model:
        intercept = pm.Normal("intercept", 0, 2)
        slopes = pm.Normal("slopes", 0, 1, shape=2)
        nu = pm.Exponential("nu", 1 / 29) + 1
        sigma = pm.HalfCauchy("sigma", 1)
        pm.StudentT("y", nu=nu, mu=intercept + x @ slopes, sigma=sigma, observed=y)
    return evaluate(model)


@program()
def logistic() -> Results:
    """Logistic regression with robust priors."""
    x, rng = _design(200, 4, 2)
    y = rng.binomial(1, 1 / (1 + np.exp(-x @ [0.5, -1.0, 0.0, 2.0])))
    with pm.Model() as model:
        intercept = pm.Normal("intercept", 0, 5)
        slopes = pm.StudentT("slopes", nu=4, mu=0, sigma=2.5, shape=4)
        pm.Bernoulli("y", logit_p=intercept + pm.math.dot(x, slopes), observed=y)
    return evaluate(model)


@program()
def probit() -> Results:
    """A probability through the normal distribution's cumulative function."""
    x, rng = _design(80, 2, 3)
    y = rng.binomial(1, 0.4, size=80)
    with pm.Model() as model:
        slopes = pm.Normal("slopes", 0, 1, shape=2)
        pm.Bernoulli("y", p=pm.math.invprobit(x @ slopes), observed=y)
    return evaluate(model)


@program()
def poisson() -> Results:
    """Counts with an exposure."""
    x, rng = _design(100, 2, 4)
    exposure = rng.uniform(0.5, 2, size=100)
    y = rng.poisson(exposure * np.exp(0.3 + x @ [0.2, -0.4]))
    with pm.Model() as model:
        intercept = pm.Normal("intercept", 0, 2)
        slopes = pm.Laplace("slopes", 0, 1, shape=2)
        rate = pm.Deterministic("rate", exposure * pm.math.exp(intercept + x @ slopes))
        pm.Poisson("y", rate, observed=y)
    return evaluate(model)


@program()
def negative_binomial() -> Results:
    """Counts with more variance than a Poisson distribution has."""
    x, rng = _design(100, 2, 5)
    y = rng.negative_binomial(3, 0.4, size=100)
    with pm.Model() as model:
        slopes = pm.Normal("slopes", 0, 1, shape=2)
        alpha = pm.Gamma("alpha", 2, 0.5)
        pm.NegativeBinomial("y", mu=pm.math.exp(x @ slopes), alpha=alpha, observed=y)
    return evaluate(model)


@program()
def gamma_regression() -> Results:
    """Positive amounts by mean and scale."""
    x, rng = _design(60, 2, 6)
    y = rng.gamma(2.0, 1.5, size=60)
    with pm.Model() as model:
        slopes = pm.Normal("slopes", 0, 1, shape=2)
        scale = pm.InverseGamma("scale", 3, 2)
        pm.Gamma("y", mu=pm.math.exp(x @ slopes), sigma=scale, observed=y)
    return evaluate(model)


@program()
def beta_regression() -> Results:
    """Shares."""
    x, rng = _design(60, 2, 7)
    y = rng.beta(2, 3, size=60)
    with pm.Model() as model:
        slopes = pm.Normal("slopes", 0, 1, shape=2)
        precision = pm.HalfNormal("precision", 20)
        mean = pm.math.sigmoid(x @ slopes)
        pm.Beta("y", mean * precision, (1 - mean) * precision, observed=y)
    return evaluate(model)


@program()
def ordered_logistic() -> Results:
    """Ordered answers: cut points in order."""
    x, rng = _design(90, 2, 8)
    y = rng.integers(0, 4, size=90)
    with pm.Model() as model:
        slopes = pm.Normal("slopes", 0, 1, shape=2)
        cuts = pm.Normal(
            "cuts",
            mu=[-1.0, 0.0, 1.0],
            sigma=2,
            transform=pm.distributions.transforms.ordered,
            initval=np.array([-1.0, 0.0, 1.0]),
        )
        pm.OrderedLogistic("y", eta=x @ slopes, cutpoints=cuts, observed=y)
    return evaluate(model)


@program()
def ordered_probit() -> Results:
    """Ordered answers of normal latent values."""
    x, rng = _design(50, 1, 9)
    y = rng.integers(0, 3, size=50)
    with pm.Model() as model:
        slope = pm.Normal("slope", 0, 1)
        pm.OrderedProbit("y", eta=x[:, 0] * slope, cutpoints=[-0.5, 0.6], observed=y)
    return evaluate(model)


@program()
def multinomial() -> Results:
    """A choice of three by a softmax with a reference class."""
    x, rng = _design(80, 2, 10)
    y = rng.integers(0, 3, size=80)
    with pm.Model() as model:
        slopes = pm.Normal("slopes", 0, 1, shape=(2, 2))
        scores = pm.math.concatenate([np.zeros((80, 1)), pm.math.dot(x, slopes)], axis=1)
        pm.Categorical("y", p=pm.math.softmax(scores, axis=1), observed=y)
    return evaluate(model)


@program()
def quantile() -> Results:
    """An asymmetric Laplace distribution: a regression of a quantile."""
    x, rng = _design(60, 1, 11)
    y = 0.5 * x[:, 0] + rng.gumbel(size=60)
    with pm.Model() as model:
        intercept, slope = pm.Normal("intercept", 0, 1), pm.Normal("slope", 0, 1)
        scale = pm.Exponential("scale", 1)
        pm.AsymmetricLaplace("y", mu=intercept + slope * x[:, 0], b=scale, q=0.8, observed=y)
    return evaluate(model)


@program()
def horseshoe() -> Results:
    """Shrinkage of most slopes to zero."""
    x, rng = _design(50, 6, 12)
    y = x[:, 0] * 2 + rng.normal(size=50)
    with pm.Model() as model:
        sigma = pm.HalfNormal("sigma", 1)
        tau = pm.HalfStudentT("tau", 2, 0.1 * sigma)
        slab = pm.InverseGamma("slab", 1, 1)
        local = pm.HalfStudentT("local", 5, shape=6)
        shrunk = local * pm.math.sqrt(slab / (slab + tau**2 * local**2))
        raw = pm.Normal("raw", 0, 1, shape=6)
        slopes = pm.Deterministic("slopes", raw * tau * shrunk)
        pm.Normal("y", x @ slopes, sigma, observed=y)
    return evaluate(model)
