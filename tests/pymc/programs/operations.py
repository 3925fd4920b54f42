"""What is done with models: predictions, data that change, interventions, text, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr

from tests.pymc.programs.hierarchical import schools
from tests.pymc.programs.registry import Results, evaluate, program


def _line() -> Any:
    with pm.Model(coords={"row": np.arange(6)}) as model:
        x = pm.Data("x", np.arange(6.0), dims="row")
        slope, sigma = pm.Normal("slope", 0, 1), pm.HalfNormal("sigma", 1)
        mu = pm.Deterministic("mu", slope * x, dims="row")
        pm.Normal("y", mu, sigma, observed=0.5 * np.arange(6.0) + 0.1, dims="row")
    return model


def _trace() -> Any:
    rng = np.random.default_rng(100)
    variables = {"slope": rng.normal(0.5, 0.1, size=(1, 3)), "sigma": rng.uniform(0.5, 1, size=(1, 3))}
    return xr.Dataset({name: (("chain", "draw"), values) for name, values in variables.items()})


@program()
def prior_predictive() -> Results:
    """Draws of all variables before data are seen."""
    drawn = pm.sample_prior_predictive(4, model=_line(), random_seed=5, return_inferencedata=False)
    return {name: np.asarray(drawn[name]) for name in ("slope", "sigma", "mu", "y")}


@program()
def posterior_predictive() -> Results:
    """Draws of observations for draws of the variables, with other data, and likelihoods of the observations."""
    model = _line()
    with model:
        first = pm.sample_posterior_predictive(_trace(), random_seed=6, progressbar=False, return_inferencedata=False)
        pm.set_data({"x": np.array([10.0, 20.0])}, coords={"row": np.arange(2)})
        second = pm.sample_posterior_predictive(
            _trace(), var_names=["y", "mu"], random_seed=6, progressbar=False, return_inferencedata=False
        )
    return {"first": first["y"], "second": second["y"], "mu": second["mu"]}


@program()
def log_likelihood() -> Results:
    """The log density of each observation, and of the priors, at draws of a trace."""
    from pymc.stats.log_density import compute_log_prior

    tree = xr.DataTree.from_dict({"posterior": _trace()})
    with _line():
        likelihood = pm.compute_log_likelihood(tree, progressbar=False, extend_inferencedata=False)
        prior = compute_log_prior(tree, progressbar=False, extend_inferencedata=False)
    return {"y": likelihood["y"].to_numpy(), "slope": prior["slope"].to_numpy(), "sigma": prior["sigma"].to_numpy()}


@program()
def deterministics() -> Results:
    """Expressions of a model at draws of a trace."""
    with _line():
        dataset = pm.compute_deterministics(_trace(), progressbar=False)
    return {"mu": dataset["mu"].to_numpy()}


@program()
def changed_data() -> Results:
    """Data and their length change between calls of one compiled function."""
    with pm.Model() as model:
        x, y = pm.Data("x", np.arange(3.0)), pm.Data("y", np.ones(3))
        slope = pm.Normal("slope", 0, 1)
        pm.Normal("z", slope * x, 1, observed=y, shape=x.shape)
    density = model.compile_fn([model.logp(), model.dlogp()])
    first = density({"slope": np.array(0.5)})
    with model:
        pm.set_data({"x": np.arange(5.0), "y": np.zeros(5)})
    second = density({"slope": np.array(0.5)})
    return {"logp": np.array([first[0], second[0]]), "dlogp": np.array([first[1], second[1]])}


@program()
def interventions() -> Results:
    """A variable set to a value, and one observed afterwards."""
    with pm.Model() as model:
        x = pm.Normal("x", 0, 1)
        y = pm.Normal("y", x, 1)
        z = pm.Normal("z", y + x, 1)
    observed = pm.observe(model, {z: 2.0})
    changed = pm.do(model, {y: np.array(100.0)})
    drawn = pm.draw(changed["z"], draws=3, random_seed=9)
    return evaluate(observed) | {"drawn": drawn}


@program()
def copied_and_frozen() -> Results:
    """Copies of a model, one with the lengths of its dimensions and its data fixed."""
    from pymc.model.transform.optimization import freeze_dims_and_data

    model = _line()
    frozen = freeze_dims_and_data(model)
    copied = model.copy()
    return {f"frozen_{k}": v for k, v in evaluate(frozen).items()} | evaluate(copied)


@program()
def text_of_models() -> Results:
    """Text that models have for readers, and the graph of their variables, whose lines are in no fixed order."""
    model = schools()
    graph = pm.model_to_mermaid(model)
    text = model.str_repr()
    return {"text": np.array(text), "mermaid": np.array(sorted(graph.splitlines()))}


@program()
def second_derivatives() -> Results:
    """The matrix of second derivatives, and the best point with it."""
    with pm.Model() as model:
        a = pm.Normal("a", 1, 2)
        s = pm.HalfNormal("s", 1)
        pm.Normal("y", a, s, observed=[0.5, 1.5, 2.5])
    start = {"a": np.array(0.5), "s_log__": np.array(-0.3)}
    return {"hessian": model.compile_d2logp()(start)}


@program(tolerance=1e-5, reason="a search stops where its steps are small, which rounding decides")
def best_point() -> Results:
    """The point of the highest density, by L-BFGS-B and by Powell's method, which takes no gradient."""
    with _line():
        first = pm.find_MAP(progressbar=False)
        second = pm.find_MAP(method="powell", progressbar=False)
    return {"slope": first["slope"], "sigma": first["sigma"], "powell": second["slope"]}


@program()
def constrained_prior() -> Results:
    """Parameters of a prior found from how much of it is in a range."""
    found = pm.find_constrained_prior(pm.Gamma, lower=0.1, upper=0.4, mass=0.75, init_guess={"alpha": 1, "beta": 10})
    return {name: np.round(value, 5) for name, value in found.items()}


@program()
def shared_variables_and_minibatches() -> Results:
    """Minibatches of data: rows that are drawn anew in each call, and a density scaled to all rows."""
    rng = np.random.default_rng(101)
    x, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    xs, ys = pm.Minibatch(x, y, batch_size=8)
    rows = pm.draw([xs, ys], random_seed=3)
    with pm.Model() as model:
        slopes = pm.Normal("slopes", 0, 1, shape=2)
        pm.Normal("y", x[:8] @ slopes, 1, observed=y[:8], total_size=40)
    return evaluate(model) | {"x": rows[0], "rows": rows[1]}


@program()
def graph_functions() -> Results:
    """Random variables of a model as inputs of ordinary graphs: replaced, batched, differentiated."""
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1, shape=3)
        b = pm.Deterministic("b", pt.cumsum(a) * 2)
    values = pt.matrix("values")
    batched = pytensor.graph.replace.vectorize_graph(b, {a: values})
    jacobian = pytensor.gradient.jacobian(pt.cumsum(values[0]) ** 2, values)
    function = pm.compile([values], [batched, jacobian])
    several, slopes = function(np.arange(6.0).reshape(2, 3))
    unconstrained = model.unobserved_value_vars
    return {"batched": several, "jacobian": slopes, "count": np.array(len(unconstrained))}
