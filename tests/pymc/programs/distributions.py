"""What single distributions do outside of a model: densities, quantiles, draws, and densities that are derived."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt

from tests.pymc.programs.registry import NARROW, Results, program

if TYPE_CHECKING:
    from collections.abc import Callable

CONTINUOUS: dict[str, Callable[[], Any]] = {
    "normal": lambda: pm.Normal.dist(1, 2),
    "uniform": lambda: pm.Uniform.dist(0, 3),
    "exponential": lambda: pm.Exponential.dist(2),
    "gamma": lambda: pm.Gamma.dist(2, 3),
    "beta": lambda: pm.Beta.dist(2, 3),
    "student": lambda: pm.StudentT.dist(4, mu=0, sigma=1),
    "cauchy": lambda: pm.Cauchy.dist(0, 1),
    "laplace": lambda: pm.Laplace.dist(0, 1),
    "logistic": lambda: pm.Logistic.dist(0, 1),
    "gumbel": lambda: pm.Gumbel.dist(0, 1),
    "weibull": lambda: pm.Weibull.dist(1.5, 1),
    "log_normal": lambda: pm.LogNormal.dist(0, 1),
    "pareto": lambda: pm.Pareto.dist(3, 0.2),
    "half_normal": lambda: pm.HalfNormal.dist(1),
    "kumaraswamy": lambda: pm.Kumaraswamy.dist(2, 3),
    "truncated": lambda: pm.TruncatedNormal.dist(0, 1, lower=-1, upper=2),
    "wald": lambda: pm.Wald.dist(1, 2),
    "von_mises": lambda: pm.VonMises.dist(0, 2),
}
DISCRETE: dict[str, Callable[[], Any]] = {
    "poisson": lambda: pm.Poisson.dist(3),
    "binomial": lambda: pm.Binomial.dist(10, 0.3),
    "bernoulli": lambda: pm.Bernoulli.dist(0.3),
    "geometric": lambda: pm.Geometric.dist(0.4),
    "negative_binomial": lambda: pm.NegativeBinomial.dist(mu=3, alpha=2),
    "discrete_uniform": lambda: pm.DiscreteUniform.dist(1, 6),
    "categorical": lambda: pm.Categorical.dist([0.1, 0.2, 0.7]),
    "zero_inflated": lambda: pm.ZeroInflatedPoisson.dist(0.6, 3),
}
VECTORS: dict[str, Callable[[], Any]] = {
    "dirichlet": lambda: pm.Dirichlet.dist([1.0, 2.0, 3.0]),
    "mv_normal": lambda: pm.MvNormal.dist([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]]),
    "multinomial": lambda: pm.Multinomial.dist(10, [0.2, 0.3, 0.5]),
    "dirichlet_multinomial": lambda: pm.DirichletMultinomial.dist(10, [1.0, 2.0, 3.0]),
    "walk": lambda: pm.GaussianRandomWalk.dist(0, 1, init_dist=pm.Normal.dist(0, 1), steps=4),
    "zero_sum": lambda: pm.ZeroSumNormal.dist(1, shape=4),
    "mixture": lambda: pm.NormalMixture.dist([0.3, 0.7], [0.0, 5.0], [1.0, 2.0], shape=3),
    "censored": lambda: pm.Censored.dist(pm.Normal.dist(0, 1, shape=4), lower=-0.5, upper=0.5),
    "car": lambda: pm.CAR.dist(np.zeros(3), np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0.0]]), 0.5, 1.0),
}


def _functions(names: list[str], dists: dict[str, Callable[[], Any]], function: Any, at: np.ndarray) -> list[Any]:
    value = pt.vector("value")
    return list(pm.compile([value], [function(dists[name](), value) for name in names])(at))


@program(tolerance=1e-6, reason=NARROW)
def log_densities() -> Results:
    """Logarithms of densities at points inside of a range and outside."""
    at = np.array([-0.4, 0.3, 0.7, 1.9, 30.0])
    values = _functions([*CONTINUOUS], CONTINUOUS, pm.logp, at)
    whole = _functions([*DISCRETE], DISCRETE, pm.logp, np.array([-1.0, 0.0, 1.0, 2.0, 5.0, 11.0]))
    return {"continuous": np.array(values), "discrete": np.array(whole)}


@program(tolerance=1e-6, reason=NARROW)
def cumulative_functions() -> Results:
    """Logarithms of cumulative functions and of what is above."""
    left_out = {"von_mises"}
    names = [name for name in CONTINUOUS if name not in left_out]
    at = np.array([-0.4, 0.3, 0.7, 1.9, 30.0])
    whole = ["poisson", "binomial", "bernoulli", "geometric", "negative_binomial", "discrete_uniform"]
    above = ["normal", "exponential", "gumbel", "weibull", "logistic", "uniform"]
    return {
        "continuous": np.array(_functions(names, CONTINUOUS, pm.logcdf, at)),
        "discrete": np.array(_functions(whole, DISCRETE, pm.logcdf, np.array([0.0, 1.0, 2.0, 5.0]))),
        "above": np.array(_functions(above, CONTINUOUS, pm.logccdf, at)),
    }


@program()
def quantiles() -> Results:
    """Quantiles of families that have them."""
    names = [
        "normal",
        "uniform",
        "exponential",
        "cauchy",
        "laplace",
        "logistic",
        "gumbel",
        "weibull",
        "log_normal",
        "pareto",
    ]
    whole = ["geometric", "discrete_uniform"]
    at = np.array([0.05, 0.5, 0.9])
    return {
        "continuous": np.array(_functions(names, CONTINUOUS, pm.icdf, at)),
        "discrete": np.array(_functions(whole, DISCRETE, pm.icdf, at)),
    }


@program(tolerance=1e-6, reason=NARROW)
def draws() -> Results:
    """Draws of every family, each with a seed."""
    families = CONTINUOUS | DISCRETE | VECTORS
    return {name: pm.draw(dist(), draws=3, random_seed=7) for name, dist in families.items()}


@program()
def draws_together() -> Results:
    """Draws of variables that depend on one another, their generators in the order of the graph."""
    mu = pm.Normal.dist(0, 1, name="mu")
    sigma = pm.HalfNormal.dist(1, name="sigma")
    x = pm.Normal.dist(mu, sigma, shape=(2, 3))
    chosen = pm.Categorical.dist(pm.Dirichlet.dist(np.ones(3)), shape=4)
    outputs = pm.draw([mu, sigma, x, x.sum(axis=1), chosen], draws=4, random_seed=11)
    return dict(zip(["mu", "sigma", "x", "sums", "chosen"], outputs, strict=True))


@program()
def derived_densities() -> Results:
    """Densities of expressions of random variables, found from the graph."""
    x, scale = pm.Normal.dist(0, 1), pm.Gamma.dist(2, 1)
    vector = pm.Normal.dist(np.arange(3.0), 1.0)
    expressions = {
        "exp": pt.exp(x),
        "affine": 3.0 * x + 2.0,
        "negative": -x,
        "log": pt.log(scale),
        "sqrt": pt.sqrt(scale),
        "square": x**2,
        "cube": x**3,
        "reciprocal": 1 / scale,
        "sigmoid": pt.sigmoid(x),
        "log1p": pt.log1p(scale),
        "softplus": pt.softplus(x),
        "sinh": pt.sinh(x),
        "abs": pt.abs(x),
        "clip": pt.clip(x, -0.5, 0.5),
        "round": pt.round(x),
        "erf": pt.erf(x),
    }
    value = pt.vector("value")
    at = np.array([0.1, 0.5, 0.9])
    results = _many({name: (expression, value) for name, expression in expressions.items()}, value, at)
    pieces = {
        "max": (pt.max(pm.Normal.dist(0, 1, shape=3)), pt.scalar("m")),
        "cumsum": (pt.cumsum(vector), pt.vector("c", shape=(3,))),
        "stack": (pt.stack([pm.Normal.dist(0, 1), pm.Exponential.dist(1)]), pt.vector("k", shape=(2,))),
        "minimum": (pt.min(pm.Normal.dist(0, 1, shape=3)), pt.scalar("n")),
        "reshaped": (vector.reshape((3, 1)), pt.matrix("r", shape=(3, 1))),
        "element": (vector[1], pt.scalar("e")),
    }
    arrays = {
        "max": np.array(0.4),
        "cumsum": np.array([0.1, 1.5, 3.0]),
        "stack": np.array([0.2, 0.7]),
        "reshaped": np.array([[0.1], [0.8], [2.5]]),
        "minimum": np.array(-0.4),
        "element": np.array(0.7),
    }
    for name, (expression, place) in pieces.items():
        results[name] = pm.compile([place], pm.logp(expression, place))(arrays[name])
    return results


def _many(expressions: dict[str, tuple[Any, Any]], value: Any, at: np.ndarray) -> Results:
    return {name: pm.compile([value], pm.logp(e, v))(at) for name, (e, v) in expressions.items()}


@program()
def derived_in_models() -> Results:
    """A comparison, a switch and a mixture by indexing, each with a density."""
    x = pm.Normal.dist(0.5, 1)
    index = pm.Bernoulli.dist(0.3)
    mixed = pt.stack([pm.Normal.dist(-1, 1), pm.Normal.dist(2, 0.5)])[index]
    chosen = pt.switch(index, pm.Exponential.dist(1), pm.Exponential.dist(3))
    density = pytensor.function([], [pm.logp(x > 0, np.array([True, False]))])
    at, flag, real = np.array([0.4, 1.4]), pt.lscalar("flag"), pt.scalar("real")
    results = {"above": density()[0]}
    for name, expression in {"indexed": mixed, "switched": chosen}.items():
        joint = pm.logprob.conditional_logp({expression: real, index: flag})
        results[name] = np.array([pm.compile([real, flag], list(joint.values()))(v, f) for v in at for f in (0, 1)])
    return results
