"""Families of distributions, each as a variable of a model."""

from __future__ import annotations

import numpy as np
import pymc as pm

from tests.pymc.programs.registry import NARROW, Results, density_only, evaluate, program


@program()
def positive() -> Results:
    """Positive numbers."""
    with pm.Model() as model:
        pm.Wald("wald", mu=2.0, lam=3.0)
        pm.Pareto("pareto", alpha=3, m=1.5)
        pm.InverseGamma("inverse_gamma", alpha=3, beta=2)
        pm.LogNormal("log_normal", 0.2, 0.5)
        pm.ChiSquared("chi_squared", nu=4)
        pm.HalfStudentT("half_student", nu=3, sigma=2)
        pm.Weibull("weibull", alpha=1.5, beta=2)
        pm.ExGaussian("ex_gaussian", mu=0.5, sigma=1, nu=2)
        pm.Exponential("exponential", scale=[0.5, 2.0])
    return evaluate(model)


@program()
def on_an_interval() -> Results:
    """Numbers of an interval."""
    with pm.Model() as model:
        low = pm.Uniform("low", -2, 1)
        pm.Uniform("between", low, 3)
        pm.Kumaraswamy("kumaraswamy", a=2, b=3)
        pm.LogitNormal("logit_normal", 0.3, 0.8)
        pm.Triangular("triangular", lower=-1, c=0.5, upper=2)
        pm.Beta("beta", mu=0.3, sigma=0.1)
        pm.Interpolated("interpolated", np.linspace(-1, 2, 7), np.array([0.1, 0.4, 0.9, 1.0, 0.7, 0.3, 0.05]))
    return evaluate(model)


@program(tolerance=1e-8, reason=NARROW)
def on_the_line() -> Results:
    """Numbers of any size."""
    with pm.Model() as model:
        pm.Moyal("moyal", 1, 2)
        pm.Gumbel("gumbel", 1, 2)
        pm.Logistic("logistic", 0.5, 1.5)
        pm.Laplace("laplace", 0.5, 1.5)
        pm.Cauchy("cauchy", 0.5, 1.5)
        pm.SkewNormal("skew_normal", mu=0.2, sigma=1.5, alpha=2)
        pm.SkewStudentT("skew_student", a=3, b=2, mu=0, sigma=1)
        pm.StudentT("student", nu=3, mu=1, lam=2)
        pm.Flat("flat", shape=2)
    return evaluate(model)


@program()
def directions() -> Results:
    """Angles and lengths: functions of Bessel."""
    rng = np.random.default_rng(80)
    with pm.Model() as model:
        mu = pm.VonMises("mu", 0, 1.5)
        kappa = pm.HalfNormal("kappa", 3)
        pm.VonMises("angle", mu, kappa, observed=rng.vonmises(0, 2, size=20))
        nu, sigma = pm.HalfNormal("nu", 2), pm.HalfNormal("sigma", 1)
        pm.Rice("length", nu=nu, sigma=sigma, observed=rng.uniform(0.5, 3, size=10))
    return evaluate(model)


@program()
def counts() -> Results:
    """Whole numbers, their parameters drawn."""
    with pm.Model() as model:
        p = pm.Beta("p", 2, 3)
        pm.Geometric("geometric", p, observed=[1, 3, 2])
        pm.HyperGeometric("hyper_geometric", N=50, k=15, n=10, observed=[2, 4])
        pm.DiscreteWeibull("discrete_weibull", q=p, beta=0.9, observed=[0, 1, 4])
        pm.DiscreteUniform("discrete_uniform", 0, 6, observed=[2, 5])
        pm.Binomial("binomial", n=9, p=p, observed=[4, 6])
        pm.Categorical("categorical", p=[0.2, 0.5, 0.3], observed=[0, 1, 1, 2])
        pm.BetaBinomial("beta_binomial", alpha=p + 1, beta=2, n=8, observed=[3, 8])
        pm.OrderedMultinomial("ordered", eta=p, cutpoints=[-1.0, 0.5], n=6, observed=[[2, 1, 3]])
    return evaluate(model)


@program()
def discrete_unobserved() -> Results:
    """A model without continuous variables."""
    with pm.Model() as model:
        n = pm.Poisson("n", 4)
        pm.Binomial("k", n + 3, 0.4, observed=2)
        pm.Categorical("c", np.array([[0.2, 0.8], [0.6, 0.4]]))
        pm.Bernoulli("b", 0.3, shape=3)
    return density_only(model)
