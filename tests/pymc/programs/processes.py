"""Gaussian processes."""

from __future__ import annotations

import numpy as np
import pymc as pm

from tests.pymc.programs.registry import NARROW, Results, evaluate, program

X = np.linspace(0, 4, 15)[:, None]
Y = np.sin(2 * X[:, 0]) + 0.2 * np.random.default_rng(60).normal(size=15)


@program()
def gp_marginal() -> Results:
    """Its latent values integrated out, and its prediction at new points."""
    with pm.Model() as model:
        length = pm.Gamma("length", 2, 1)
        eta = pm.HalfNormal("eta", 2)
        gp = pm.gp.Marginal(cov_func=eta**2 * pm.gp.cov.Matern52(1, length))
        gp.marginal_likelihood("y", X=X, y=Y, sigma=pm.HalfNormal("sigma", 1))
        results = evaluate(model)
        point = {"length": np.array(1.2), "eta": np.array(0.9), "sigma": np.array(0.3)}
        mean, variance = gp.predict(np.array([[0.3], [5.0]]), point=point, diag=True)
    return results | {"mean": mean, "variance": variance}


@program()
def gp_latent() -> Results:
    """Its latent values as variables, for counts."""
    counts = np.random.default_rng(61).poisson(3, size=10)
    with pm.Model() as model:
        length = pm.InverseGamma("length", 5, 5)
        gp = pm.gp.Latent(cov_func=pm.gp.cov.ExpQuad(1, ls=length) + pm.gp.cov.WhiteNoise(1e-3))
        f = gp.prior("f", X=X[:10])
        pm.Poisson("y", pm.math.exp(f), observed=counts)
    return evaluate(model)


@program(tolerance=1e-6, reason=NARROW)
def gp_hilbert_space() -> Results:
    """Approximated by the eigenfunctions of an interval."""
    with pm.Model() as model:
        length = pm.LogNormal("length", 0, 0.5)
        eta = pm.Exponential("eta", 1)
        gp = pm.gp.HSGP(m=[10], c=1.5, cov_func=eta**2 * pm.gp.cov.Matern32(1, ls=length))
        f = gp.prior("f", X=X)
        pm.Normal("y", f, 0.2, observed=Y)
    return evaluate(model)


@program()
def gp_periodic() -> Results:
    """A period, a linear trend and a product of covariances."""
    with pm.Model() as model:
        period = pm.LogNormal("period", 1, 0.2)
        cov = pm.gp.cov.Periodic(1, period=period, ls=1.0) * pm.gp.cov.RatQuad(1, alpha=2.0, ls=3.0)
        cov += pm.gp.cov.Linear(1, c=0.0) + pm.gp.cov.Constant(0.5)
        gp = pm.gp.Marginal(mean_func=pm.gp.mean.Linear(coeffs=pm.Normal("slope", 0, 1)), cov_func=cov)
        gp.marginal_likelihood("y", X=X, y=Y, sigma=0.3)
    return evaluate(model)


@program()
def gp_inducing_points() -> Results:
    """The marginal likelihood approximated with inducing points."""
    with pm.Model() as model:
        length = pm.Gamma("length", 2, 1)
        gp = pm.gp.MarginalApprox(approx="VFE", cov_func=pm.gp.cov.ExpQuad(1, length))
        gp.marginal_likelihood("y", X=X, Xu=X[::4], y=Y, sigma=pm.HalfNormal("sigma", 1))
    return evaluate(model)


@program()
def gp_kronecker() -> Results:
    """On a grid, the covariance a Kronecker product; a process with heavy tails."""
    first, second = np.linspace(0, 1, 4)[:, None], np.linspace(0, 2, 3)[:, None]
    y = np.random.default_rng(62).normal(size=12)
    with pm.Model() as model:
        lengths = pm.Gamma("lengths", 2, 1, shape=2)
        covs = [pm.gp.cov.ExpQuad(1, lengths[0]), pm.gp.cov.Matern32(1, lengths[1])]
        gp = pm.gp.MarginalKron(cov_funcs=covs)
        gp.marginal_likelihood("y", Xs=[first, second], y=y, sigma=0.5)
        heavy = pm.gp.TP(scale_func=pm.gp.cov.Exponential(1, 1.0), nu=4)
        heavy.prior("f", X=X[:5])
    return evaluate(model)


@program()
def gp_lengths_that_are_whole() -> Results:
    """Lengths of 3 and 7, which PyTensor inverts in float32 for one column, and priors whose rates are whole too."""
    points = np.random.default_rng(64).normal(size=(6, 2))
    with pm.Model() as model:
        eta, rate = pm.Exponential("eta", 3), pm.Exponential("rate", 7)
        cov = eta * pm.gp.cov.ExpQuad(1, ls=3.0) + pm.gp.cov.Matern52(1, ls=7) * pm.gp.cov.RatQuad(
            1, alpha=3.0, ls=rate
        )
        pm.MvNormal("y", 0, cov(X) + 0.1 * np.eye(15), observed=Y)
        across = pm.gp.cov.ExpQuad(1, ls=3.0)(X, X[:4]).sum() * eta + pm.gp.cov.Matern32(2, ls=3.0)(points).sum() * rate
        pm.Potential("across", across + pm.logp(pm.AsymmetricLaplace.dist(3, mu=0, b=7), X + rate).sum())
    return evaluate(model)
