"""Time series and loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt

from tests.pymc.programs.registry import Results, evaluate, program


@program()
def autoregression() -> Results:
    """An autoregression of second order with a constant, its coefficients unknown."""
    rng = np.random.default_rng(50)
    y = np.cumsum(rng.normal(size=30)) * 0.3
    with pm.Model() as model:
        rho = pm.Normal("rho", 0, 0.5, shape=3)
        sigma = pm.HalfNormal("sigma", 1)
        pm.AR("y", rho=rho, sigma=sigma, constant=True, init_dist=pm.Normal.dist(0, 1), observed=y)
    return evaluate(model)


@program()
def latent_autoregression() -> Results:
    """An autoregression of first order that is not observed itself."""
    rng = np.random.default_rng(51)
    y = rng.poisson(4, size=20)
    with pm.Model() as model:
        rho = pm.Uniform("rho", -1, 1)
        state = pm.AR("state", rho=[rho], sigma=0.5, init_dist=pm.Normal.dist(0, 1), steps=19)
        pm.Poisson("y", pm.math.exp(1 + state), observed=y)
    return evaluate(model)


@program()
def random_walk() -> Results:
    """A trend that walks, and a walk of a vector."""
    rng = np.random.default_rng(52)
    y = np.cumsum(rng.normal(size=25)) * 0.2 + rng.normal(size=25) * 0.3
    with pm.Model() as model:
        sigma = pm.Exponential("sigma", 5)
        trend = pm.GaussianRandomWalk("trend", mu=0.01, sigma=sigma, init_dist=pm.Normal.dist(0, 1), shape=25)
        pm.Normal("y", trend, 0.3, observed=y)
        cov = np.array([[1.0, 0.2], [0.2, 0.5]])
        pm.MvGaussianRandomWalk("both", mu=np.zeros(2), cov=cov, init_dist=pm.MvNormal.dist(np.zeros(2), cov), steps=5)
    return evaluate(model)


@program()
def stochastic_volatility() -> Results:
    """Returns whose scale is the exponential of a walk."""
    rng = np.random.default_rng(53)
    returns = rng.standard_t(5, size=60) * 0.02
    with pm.Model() as model:
        step = pm.Exponential("step", 10)
        volatility = pm.GaussianRandomWalk("volatility", sigma=step, init_dist=pm.Normal.dist(0, 1), shape=60)
        nu = pm.Exponential("nu", 0.1)
        pm.StudentT("returns", nu=nu, lam=pm.math.exp(-2 * volatility), observed=returns)
    return evaluate(model, scale=0.1)


@program()
def garch() -> Results:
    """A variance that follows its own past and that of the observations."""
    rng = np.random.default_rng(54)
    y = rng.normal(size=30)
    with pm.Model() as model:
        omega = pm.HalfNormal("omega", 1)
        alpha = pm.Uniform("alpha", 0, 1)
        beta = pm.Uniform("beta", 0, 1 - alpha)
        pm.GARCH11("y", omega=omega, alpha_1=alpha, beta_1=beta, initial_vol=1.0, observed=y)
    return evaluate(model)


@program()
def euler_maruyama() -> Results:
    """A stochastic differential equation in small steps, observed with errors."""
    rng = np.random.default_rng(55)
    y = np.cumsum(rng.normal(size=20)) * 0.1

    def drift(x: Any, rate: Any, scale: Any) -> tuple[Any, Any]:
        return -rate * x, scale

    with pm.Model() as model:
        rate = pm.HalfNormal("rate", 1)
        path = pm.EulerMaruyama("path", dt=0.1, sde_fn=drift, sde_pars=(rate, 0.5), shape=20, initval=y)
        pm.Normal("y", path, 0.1, observed=y)
    return evaluate(model, scale=0.1)


@program()
def linear_state_space() -> Results:
    """The likelihood of a local linear trend by a Kalman filter written as a scan."""
    rng = np.random.default_rng(56)
    y = np.cumsum(0.1 + rng.normal(size=30) * 0.2) + rng.normal(size=30) * 0.5

    def step(observed: Any, mean: Any, cov: Any, noise: Any, error: Any) -> list[Any]:
        move = pt.as_tensor(np.array([[1.0, 1.0], [0.0, 1.0]]))
        predicted = move @ mean
        spread = move @ cov @ move.T + pt.diag(noise)
        variance = spread[0, 0] + error
        gain = spread[:, 0] / variance
        surprise = observed - predicted[0]
        logp = -0.5 * (pt.log(2 * np.pi * variance) + surprise**2 / variance)
        return [predicted + gain * surprise, spread - pt.outer(gain, spread[0]), logp]

    with pm.Model() as model:
        noise = pm.HalfNormal("noise", 1, shape=2)
        error = pm.HalfNormal("error", 1)
        (_, _, logps), _ = pytensor.scan(
            step,
            sequences=[pt.as_tensor(y)],
            outputs_info=[pt.zeros(2), pt.eye(2) * 10.0, None],
            non_sequences=[noise**2, error**2],
        )
        pm.Potential("likelihood", logps.sum())
    return evaluate(model)


@program()
def differential_equation() -> Results:
    """Predators and prey, their equations solved by Runge and Kutta's steps in a scan."""
    rng = np.random.default_rng(57)
    hares = 20 + 5 * rng.normal(size=12)
    lynxes = 10 + 3 * rng.normal(size=12)

    def rates(state: Any, theta: Any) -> Any:
        prey, predator = state[0], state[1]
        return pt.stack([prey * (theta[0] - theta[1] * predator), predator * (theta[2] * prey - theta[3])])

    def step(state: Any, theta: Any) -> Any:
        h = 0.2
        first = rates(state, theta)
        second = rates(state + h / 2 * first, theta)
        third = rates(state + h / 2 * second, theta)
        fourth = rates(state + h * third, theta)
        return state + h / 6 * (first + 2 * second + 2 * third + fourth)

    with pm.Model() as model:
        theta = pm.LogNormal("theta", np.log([0.5, 0.03, 0.02, 0.8]), 0.3, shape=4)
        start = pm.LogNormal("start", np.log([20.0, 10.0]), 0.2, shape=2)
        states, _ = pytensor.scan(step, outputs_info=[start], non_sequences=[theta], n_steps=12)
        sigma = pm.Exponential("sigma", 1)
        pm.LogNormal("hares", pt.log(states[:, 0]), sigma, observed=hares)
        pm.LogNormal("lynxes", pt.log(states[:, 1]), sigma, observed=lynxes)
    return evaluate(model, scale=0.1)


@program()
def hidden_markov_model() -> Results:
    """Hidden states summed out by the forward recursion."""
    rng = np.random.default_rng(58)
    y = rng.normal(size=25) + 2 * (np.arange(25) % 10 > 4)

    def forward(logps: Any, alpha: Any, transitions: Any) -> Any:
        return logps + pt.logsumexp(alpha[:, None] + pt.log(transitions), axis=0)

    with pm.Model() as model:
        transitions = pm.Dirichlet("transitions", a=np.array([[5.0, 1.0], [1.0, 5.0]]), shape=(2, 2))
        means = pm.Normal("means", [0.0, 2.0], 1, shape=2)
        logps = pm.logp(pm.Normal.dist(means, 1), y[:, None])
        alphas, _ = pytensor.scan(
            forward, sequences=[logps[1:]], outputs_info=[logps[0] - np.log(2)], non_sequences=[transitions]
        )
        pm.Potential("likelihood", pt.logsumexp(alphas[-1]))
    return evaluate(model)
