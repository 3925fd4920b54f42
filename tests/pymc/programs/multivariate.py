"""Distributions of vectors and matrices, and those over areas."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from tests.pymc.programs.registry import Results, evaluate, program


def _neighbours(count: int) -> np.ndarray:
    """Return which of some areas on a ring are next to each other, two of them across it."""
    near = np.zeros((count, count))
    for i in range(count):
        near[i, (i + 1) % count] = near[(i + 1) % count, i] = 1
    near[0, count // 2] = near[count // 2, 0] = 1
    return near


@program()
def mv_normal() -> Results:
    """Normal vectors by covariance, precision and Cholesky factor."""
    rng = np.random.default_rng(30)
    factor = rng.normal(size=(3, 3))
    cov = factor @ factor.T + 2 * np.eye(3)
    y = rng.multivariate_normal([1.0, 0.0, -1.0], cov, size=20)
    with pm.Model() as model:
        a = pm.MvNormal("a", mu=np.zeros(3), cov=cov)
        b = pm.MvNormal("b", mu=a, tau=np.linalg.inv(cov))
        pm.MvNormal("y", mu=b, chol=np.linalg.cholesky(cov), observed=y)
    return evaluate(model)


@program()
def lkj_correlation() -> Results:
    """A correlation matrix with scales of its own."""
    rng = np.random.default_rng(31)
    y = rng.normal(size=(25, 3))
    with pm.Model() as model:
        chol, corr, scales = pm.LKJCholeskyCov("chol", n=3, eta=2, sd_dist=pm.HalfNormal.dist(1.5, shape=3))
        pm.Deterministic("total", corr.sum() + scales.sum())
        pm.MvNormal("y", mu=np.zeros(3), chol=chol, observed=y)
        matrix = pm.LKJCorr("matrix", n=3, eta=2)
        pm.Potential("pull", -pt.sum(matrix**2))
    return evaluate(model)


@program()
def mv_student_t() -> Results:
    """Vectors with heavy tails, and a matrix of normals."""
    rng = np.random.default_rng(32)
    y = rng.standard_t(4, size=(15, 2))
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1, shape=2)
        pm.MvStudentT("y", nu=4, mu=mu, scale=np.array([[1.0, 0.3], [0.3, 2.0]]), observed=y)
        pm.MatrixNormal("m", mu=np.zeros((2, 3)), rowcov=np.diag([1.0, 2.0]), colcov=np.eye(3) + 0.2, shape=(2, 3))
    return evaluate(model)


@program()
def dirichlet_multinomial() -> Results:
    """Counts of categories whose shares vary from row to row."""
    rng = np.random.default_rng(33)
    counts = np.array([rng.multinomial(20, rng.dirichlet([2.0, 3.0, 5.0])) for _ in range(10)])
    with pm.Model() as model:
        shares = pm.Dirichlet("shares", a=np.ones(3))
        concentration = pm.LogNormal("concentration", 1, 1)
        pm.DirichletMultinomial("y", n=20, a=shares * concentration, observed=counts, shape=(10, 3))
    return evaluate(model)


@program()
def multinomial_counts() -> Results:
    """Counts of categories with shares in common, by breaking a stick."""
    rng = np.random.default_rng(34)
    counts = rng.multinomial(30, [0.1, 0.2, 0.3, 0.4], size=8)
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 2, 1)
        shares = pm.StickBreakingWeights("shares", alpha=alpha, K=3)
        pm.Multinomial("y", n=30, p=shares, observed=counts)
    return evaluate(model)


@program()
def spatial_car() -> Results:
    """Counts of areas with a conditional autoregression."""
    rng = np.random.default_rng(35)
    y = rng.poisson(5, size=10)
    with pm.Model() as model:
        alpha = pm.Beta("alpha", 2, 2)
        tau = pm.Gamma("tau", 2, 2)
        phi = pm.CAR("phi", mu=np.zeros(10), W=_neighbours(10), alpha=alpha, tau=tau)
        pm.Poisson("y", pm.math.exp(1 + phi), observed=y)
    return evaluate(model)


@program()
def spatial_icar() -> Results:
    """Counts of areas with the intrinsic autoregression, beside independent effects."""
    rng = np.random.default_rng(36)
    y = rng.poisson(5, size=10)
    with pm.Model() as model:
        phi = pm.ICAR("phi", W=_neighbours(10))
        theta = pm.Normal("theta", 0, 1, shape=10)
        rho = pm.Beta("rho", 0.5, 0.5)
        mixed = pm.Deterministic("mixed", pt.sqrt(1 - rho) * theta + pt.sqrt(rho) * phi)
        pm.Poisson("y", pm.math.exp(1 + mixed), observed=y)
    return evaluate(model)


@program()
def kronecker_normal() -> Results:
    """A normal vector over a grid, and a Wishart matrix."""
    rng = np.random.default_rng(37)
    first, second = np.array([[1.0, 0.4], [0.4, 1.5]]), np.eye(3) + 0.1
    y = rng.normal(size=6)
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        pm.KroneckerNormal("y", mu=pt.ones(6) * mu, covs=[first, second], sigma=0.3, observed=y)
    return evaluate(model)
