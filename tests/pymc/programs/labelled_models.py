"""Models by the names of dimensions as they are written for data: hierarchies, mixtures, time series and others."""

from __future__ import annotations

import numpy as np
import pymc as pm

from tests.pymc.programs.registry import Results, evaluate, program


@program()
def dims_varying_slopes() -> Results:
    """Intercepts and slopes of groups that are correlated, from a factor over a dimension of coefficients."""
    import pymc.dims as pmd

    rng = np.random.default_rng(120)
    coords = {"row": range(24), "county": range(5), "effect": ["intercept", "slope"]}
    with pm.Model(coords=coords) as model:
        x = pmd.Data("x", rng.normal(size=24), dims="row")
        county = pmd.Data("county_of", rng.integers(0, 5, size=24), dims="row")
        center = pmd.Normal("center", 0, 2, dims="effect")
        spread = pmd.HalfNormal("spread", 1, dims="effect")
        raw = pmd.Normal("raw", 0, 1, dims=("county", "effect"))
        effects = pmd.Deterministic("effects", center + raw * spread)
        picked = effects.isel(county=county)
        mu = picked.isel(effect=0) + picked.isel(effect=1) * x
        y = pmd.as_xtensor(rng.normal(size=24), dims=("row",))
        pmd.StudentT("y", nu=4, mu=mu, sigma=pmd.HalfCauchy("sigma", 1), observed=y, dims="row")
    return evaluate(model)


@program()
def dims_crossed() -> Results:
    """Effects of persons and of items on answers: a table of all pairs, with the probability as a logit."""
    import pymc.dims as pmd

    answers = np.random.default_rng(121).integers(0, 2, size=(7, 4))
    with pm.Model(coords={"person": range(7), "item": list("abcd")}) as model:
        ability = pmd.Normal("ability", 0, 1, dims="person")
        difficulty = pmd.ZeroSumNormal("difficulty", core_dims="item", sigma=1.5, dims="item")
        discrimination = pmd.LogNormal("discrimination", 0, 0.3, dims="item")
        logit = discrimination * (ability - difficulty)
        pmd.Deterministic("share", pmd.math.sigmoid(logit).mean("person"))
        observed = pmd.as_xtensor(answers, dims=("person", "item"))
        pmd.Bernoulli("y", logit_p=logit, observed=observed, dims=("person", "item"))
    return evaluate(model)


@program()
def dims_nested() -> Results:
    """Three levels: schools in districts, whose scales differ."""
    import pymc.dims as pmd

    rng = np.random.default_rng(122)
    coords = {"district": range(3), "school": range(8), "pupil": range(4)}
    with pm.Model(coords=coords) as model:
        district_of = pmd.Data("district_of", rng.integers(0, 3, size=8), dims="school")
        overall = pmd.Normal("overall", 50, 10)
        district = pmd.Normal("district_mean", overall, pmd.Exponential("between", 0.2), dims="district")
        school = pmd.Normal(
            "school_mean", district.isel(district=district_of), pmd.Gamma("within", 2, 0.5), dims="school"
        )
        scale = pmd.InverseGamma("scale", 3, 10, dims="district")
        y = pmd.as_xtensor(rng.normal(50, 5, size=(8, 4)), dims=("school", "pupil"))
        pmd.Normal("y", school, scale.isel(district=district_of), observed=y, dims=("school", "pupil"))
    return evaluate(model)


@program()
def dims_mixture() -> Results:
    """A mixture of normals: each row belongs to a component, whose mean and scale are picked by it."""
    import pymc.dims as pmd

    y = np.random.default_rng(123).normal(size=30) * 2
    with pm.Model(coords={"row": range(30), "component": range(3)}) as model:
        raw = pmd.Normal("raw", 0, 1, dims="component")
        weights = pmd.Deterministic("weights", pmd.math.softmax(raw, dim="component"))
        belongs = pmd.Categorical("belongs", p=weights, core_dims="component", dims="row")
        mu = pmd.Normal("mu", 0, 3, dims="component").isel(component=belongs)
        sigma = pmd.HalfNormal("sigma", 1, dims="component").isel(component=belongs)
        pmd.Normal("y", mu, sigma, observed=pmd.as_xtensor(y, dims=("row",)), dims="row")
    return evaluate(model)


@program()
def dims_occupancy() -> Results:
    """Counts at sites that are occupied or not, by a choice between two rates."""
    import pymc.dims as pmd

    rng = np.random.default_rng(124)
    counts = rng.poisson(3, size=(4, 6)) * rng.integers(0, 2, size=(4, 1))
    with pm.Model(coords={"site": range(4), "visit": range(6)}) as model:
        psi = pmd.Beta("psi", 2, 2, dims="site")
        occupied = pmd.Bernoulli("occupied", psi, dims="site")
        visit = pmd.Normal("visit_effect", 0, 0.2, dims="visit")
        rate = pmd.math.exp(pmd.Normal("log_rate", 1, 0.5, dims="site") + visit)
        mu = pmd.math.where(pmd.math.eq(occupied, 1), rate, pmd.Exponential("false_rate", 10))
        y = pmd.as_xtensor(counts, dims=("site", "visit"))
        pmd.NegativeBinomial("y", mu=mu, alpha=pmd.Gamma("alpha", 2, 1), observed=y, dims=("site", "visit"))
    return evaluate(model)


@program()
def dims_random_walk() -> Results:
    """A level that moves by sums of steps, seasons, and a trend: a time series over named months."""
    import pymc.dims as pmd

    y = np.random.default_rng(125).normal(size=18).cumsum()
    with pm.Model(coords={"time": range(18), "season": range(6)}) as model:
        steps = pmd.Normal("steps", 0, 1, dims="time")
        level = pmd.Deterministic("level", pmd.HalfNormal("scale", 0.5) * steps.cumsum("time"))
        season = pmd.ZeroSumNormal("season_effect", core_dims="season", sigma=1.0, dims="season")
        which = pmd.as_xtensor(np.arange(18) % 6, dims=("time",))
        slope = pmd.Laplace("slope", 0, 0.1)
        trend = slope * pmd.as_xtensor(np.arange(18) / 18, dims=("time",))
        mu = level + season.isel(season=which) + trend
        pmd.Normal("y", mu, pmd.HalfNormal("sigma", 1), observed=pmd.as_xtensor(y, dims=("time",)), dims="time")
    return evaluate(model)


@program()
def dims_autoregression() -> Results:
    """Regression of each moment on the one before, of several series, by slices along the dimension of time."""
    import pymc.dims as pmd

    table = np.random.default_rng(126).normal(size=(3, 12))
    with pm.Model(coords={"series": list("abc"), "time": range(12), "later": range(11)}) as model:
        data = pmd.Data("data", table, dims=("series", "time"))
        rho = pmd.Uniform("rho", -0.9, 0.9, dims="series")
        center = pmd.Normal("center", 0, 1, dims="series")
        before = data.isel(time=slice(None, -1)).rename(time="later")
        mu = center + rho * (before - center)
        sigma = pmd.Weibull("sigma", 2, 1, dims="series")
        after = pmd.as_xtensor(table[:, 1:], dims=("series", "later"))
        pmd.Normal("y", mu, sigma, observed=after, dims=("series", "later"))
    return evaluate(model)


@program()
def dims_factor_analysis() -> Results:
    """Scores and loadings, their product over the dimension of factors, with rows that are correlated."""
    import pymc.dims as pmd

    y = np.random.default_rng(127).normal(size=(9, 4))
    with pm.Model(coords={"row": range(9), "item": range(4), "factor": range(2)}) as model:
        loadings = pmd.Normal("loadings", 0, 1, dims=("item", "factor"))
        scores = pmd.Normal("scores", 0, 1, dims=("row", "factor"))
        mu = pmd.Deterministic("mu", scores.dot(loadings, dim="factor"))
        noise = pmd.HalfNormal("noise", 1, dims="item")
        pmd.Deterministic("variance", (loadings**2).sum("factor") + noise**2)
        pmd.Normal("y", mu, noise, observed=pmd.as_xtensor(y, dims=("row", "item")), dims=("row", "item"))
    return evaluate(model)


@program()
def dims_dose_response() -> Results:
    """Successes of trials along doses, for compounds with slopes of one sign; some answers are censored."""
    import pymc.dims as pmd

    rng = np.random.default_rng(128)
    trials, dose = rng.integers(5, 20, size=(3, 5)), np.linspace(-1, 1, 5)
    deaths = (trials * rng.uniform(size=(3, 5))).astype("int64")
    times = np.minimum(rng.exponential(1, size=(3,)), 1.0)
    with pm.Model(coords={"compound": list("xyz"), "dose": range(5)}) as model:
        x = pmd.Data("level", dose, dims="dose")
        n = pmd.as_xtensor(trials, dims=("compound", "dose"))
        slope = pmd.TruncatedNormal("slope", 1, 1, lower=0, dims="compound")
        middle = pmd.Logistic("middle", 0, 1, dims="compound")
        p = pmd.math.sigmoid(slope * (x - middle))
        observed = pmd.as_xtensor(deaths, dims=("compound", "dose"))
        pmd.Binomial("deaths", n=n, p=p, observed=observed, dims=("compound", "dose"))
        pmd.Censored(
            "time",
            pmd.Exponential.dist(lam=pmd.math.exp(middle)),
            lower=None,
            upper=1.0,
            observed=pmd.as_xtensor(times, dims=("compound",)),
            dims="compound",
        )
    return evaluate(model)


@program()
def dims_joined() -> Results:
    """Parts joined along a dimension, a table broadcast and transposed, and classes by softmax over it."""
    import pymc.dims as pmd

    rng = np.random.default_rng(129)
    with pm.Model(coords={"class": list("rst"), "free": list("rs"), "row": range(10), "predictor": range(2)}) as model:
        x = pmd.Data("x", rng.normal(size=(10, 2)), dims=("row", "predictor"))
        slopes = pmd.Normal("slopes", 0, 1, dims=("predictor", "free"))
        levels = pmd.Cauchy("levels", 0, 1, dims="free")
        scores = (x.dot(slopes, dim="predictor") + levels).rename(free="class")
        zeros = pmd.zeros_like(scores.isel({"class": slice(0, 1)}))
        joined = pmd.concat([scores, zeros], dim="class")
        p = pmd.math.softmax(joined, dim="class")
        answers = pmd.as_xtensor(rng.integers(0, 3, size=10), dims=("row",))
        pmd.Categorical("answer", p=p, core_dims="class", observed=answers, dims="row")
        pmd.Deterministic("spread", slopes.transpose("free", "predictor").std("free"))
    return evaluate(model)
