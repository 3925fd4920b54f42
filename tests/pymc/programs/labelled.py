"""Models by the names of dimensions: ``pymc.dims``, which is imported by those that need it only."""

from __future__ import annotations

import numpy as np
import pymc as pm

from tests.pymc.programs.hierarchical import EFFECTS, ERRORS, SCHOOLS
from tests.pymc.programs.registry import Results, evaluate, program


@program()
def dims_eight_schools() -> Results:
    """Eight schools by the name of their dimension."""
    import pymc.dims as pmd

    with pm.Model(coords={"school": SCHOOLS}) as model:
        sigma = pmd.Data("sigma", ERRORS, dims="school")
        mu, tau = pmd.Normal("mu", 0, 5), pmd.HalfCauchy("tau", 5)
        theta = pmd.Normal("theta", mu, tau, dims="school")
        pmd.Normal("y", theta, sigma, observed=pmd.as_xtensor(EFFECTS, dims=("school",)), dims="school")
    return evaluate(model)


@program()
def dims_regression() -> Results:
    """A product over the dimension of predictors, and effects of groups picked by an index."""
    import pymc.dims as pmd

    rng = np.random.default_rng(110)
    x, group = rng.normal(size=(20, 3)), rng.integers(0, 4, size=20)
    y = pmd.as_xtensor(rng.normal(size=20), dims=("row",))
    with pm.Model(coords={"row": range(20), "predictor": ["a", "b", "c"], "group": range(4)}) as model:
        table = pmd.Data("x", x, dims=("row", "predictor"))
        which = pmd.Data("which", group, dims="row")
        slopes = pmd.Normal("slopes", 0, 1, dims="predictor")
        levels = pmd.ZeroSumNormal("levels", core_dims="group", sigma=1.0, dims="group")
        mu = pmd.Deterministic("mu", table.dot(slopes) + levels.isel(group=which))
        pmd.Normal("y", mu, pmd.HalfNormal("sigma", 1), observed=y, dims="row")
    return evaluate(model)


@program()
def dims_counts() -> Results:
    """Counts over two dimensions, effects of each spread over the other."""
    import pymc.dims as pmd

    counts = pmd.as_xtensor(np.random.default_rng(111).poisson(4, size=(3, 5)), dims=("region", "year"))
    with pm.Model(coords={"region": ["n", "s", "w"], "year": range(5)}) as model:
        regional = pmd.Normal("regional", 0, 1, dims="region")
        yearly = pmd.Normal("yearly", 0, pmd.Exponential("scale", 1), dims="year")
        rate = pmd.math.exp(1 + regional + yearly)
        pmd.Deterministic("total", rate.sum("year"))
        pmd.Poisson("y", rate, observed=counts, dims=("region", "year"))
    return evaluate(model)


@program()
def dims_vectors() -> Results:
    """Vectors as core dimensions: shares, and normal vectors."""
    import pymc.dims as pmd

    rng = np.random.default_rng(112)
    answers = pmd.as_xtensor(rng.integers(0, 3, size=12), dims=("person",))
    y = pmd.as_xtensor(rng.normal(size=(6, 2)), dims=("row", "side"))
    with pm.Model(coords={"kind": ["x", "y", "z"], "person": range(12), "row": range(6), "side": range(2)}) as model:
        alpha = pmd.as_xtensor(np.ones(3), dims=("kind",))
        shares = pmd.Dirichlet("shares", alpha, core_dims="kind", dims=("kind",))
        pmd.Categorical("answer", p=shares, core_dims="kind", observed=answers, dims=("person",))
        factor = pmd.as_xtensor(np.array([[1.0, 0.0], [0.4, 0.8]]), dims=("side", "other"))
        mu = pmd.Normal("mu", 0, 1, dims="side")
        pmd.MvNormal("y", mu, chol=factor, core_dims=("side", "other"), observed=y, dims=("row", "side"))
    return evaluate(model)


@program()
def dims_draws() -> Results:
    """Draws and predictions of a model by names."""
    import pymc.dims as pmd

    with pm.Model(coords={"row": range(4), "column": range(2)}) as model:
        a = pmd.Normal("a", 0, 1, dims="row")
        b = pmd.Gamma("b", 2, 1, dims="column")
        pmd.Deterministic("c", (a * b).transpose("column", "row"))
        pmd.Normal("y", (a + b).mean("column"), 1, dims="row")
    drawn = pm.sample_prior_predictive(3, model=model, random_seed=12, return_inferencedata=False)
    return {name: np.asarray(drawn[name]) for name in ("a", "b", "c", "y")}
