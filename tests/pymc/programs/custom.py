"""Distributions and ops of the user's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.pytensorf import collect_default_updates
from pytensor.graph import Apply, Op

from tests.pymc.programs.registry import Results, evaluate, program


@program()
def custom_logp() -> Results:
    """A distribution given by its log density and by how it is drawn."""
    rng = np.random.default_rng(90)

    def logp(value: Any, mu: Any, sigma: Any) -> Any:
        return -pt.log(2 * sigma) - pt.abs(value - mu) / sigma

    def random(mu: Any, sigma: Any, rng: Any = None, size: Any = None) -> Any:
        return rng.laplace(mu, sigma, size=size)

    with pm.Model() as model:
        mu, sigma = pm.Normal("mu", 0, 1), pm.HalfNormal("sigma", 1)
        y = pm.CustomDist("y", mu, sigma, logp=logp, random=random, observed=rng.laplace(size=15))
    return evaluate(model) | {"draws": pm.draw(y, draws=2, random_seed=1)}


@program()
def custom_expression() -> Results:
    """A distribution given by an expression of others, its density derived."""
    rng = np.random.default_rng(91)

    def skewed(mu: Any, sigma: Any, size: Any) -> Any:
        return pt.exp(pm.Normal.dist(mu, sigma, size=size)) + 1.0

    with pm.Model() as model:
        mu, sigma = pm.Normal("mu", 0, 1), pm.HalfNormal("sigma", 1)
        y = pm.CustomDist("y", mu, sigma, dist=skewed, observed=1 + rng.lognormal(size=15))
        pm.CustomDist("latent", mu, 1.0, dist=skewed, shape=3)
    return evaluate(model) | {"draws": pm.draw(y, draws=2, random_seed=1)}


@program()
def custom_scan() -> Results:
    """A distribution given by a loop with draws, its density derived from the loop."""

    def walk(rho: Any, sigma: Any, steps: Any, size: Any) -> Any:
        del size

        def step(previous: Any, rho: Any, sigma: Any) -> tuple[Any, Any]:
            current = pm.Normal.dist(rho * previous, sigma)
            return current, collect_default_updates([current])

        states, _ = pytensor.scan(
            step, outputs_info=[pt.zeros((), dtype="float64")], non_sequences=[rho, sigma], n_steps=steps, strict=True
        )
        return states

    y = np.cumsum(np.random.default_rng(92).normal(size=12)) * 0.3
    with pm.Model() as model:
        rho, sigma = pm.Normal("rho", 0, 1), pm.HalfNormal("sigma", 1)
        series = pm.CustomDist("y", rho, sigma, y.size, dist=walk, observed=y)
    return evaluate(model) | {"draws": pm.draw(series, draws=2, random_seed=1)}


class _Wave(Op):  # type: ignore[misc] # PyTensor, or treadle under its name, is not there for mypy
    """A function of the user's, as one that a solver computes: a sum of sines."""

    itypes = (pt.dvector,)
    otypes = (pt.dscalar,)

    def make_node(self, theta: Any) -> Any:
        return Apply(self, [pt.as_tensor_variable(theta)], [pt.dscalar()])

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = np.asarray(np.sin(inputs[0]).sum())

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        return [cotangents[0] * _Slope()(inputs[0])]


class _Slope(Op):  # type: ignore[misc] # as above
    """Its gradient."""

    def make_node(self, theta: Any) -> Any:
        theta = pt.as_tensor_variable(theta)
        return Apply(self, [theta], [theta.type()])

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = np.cos(inputs[0])


@program()
def black_box() -> Results:
    """A likelihood by an op of the user's with a gradient of its own."""
    with pm.Model() as model:
        theta = pm.Normal("theta", 0, 1, shape=3)
        pm.Potential("likelihood", -((_Wave()(theta) - 0.5) ** 2) / 0.02)
    return evaluate(model)


@program()
def potentials_and_deterministics() -> Results:
    """Terms added to the log density, and expressions that are recorded."""
    with pm.Model() as model:
        a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
        ratio = pm.Deterministic("ratio", a / (1 + b**2))
        pm.Potential("soft", -pm.math.switch(ratio > 1, (ratio - 1) ** 2, 0.0))
        pm.Potential("closeness", pm.logp(pm.Cauchy.dist(0, 0.5), a - b))
    ratio_at = model.compile_fn(model["ratio"], inputs=[model["a"], model["b"]], point_fn=False)
    return evaluate(model) | {"ratio": ratio_at(2.0, 0.5)}
