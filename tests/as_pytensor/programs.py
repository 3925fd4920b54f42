"""Programs written against PyTensor: each returns what it computes, as arrays by name.

They do with graphs what PyMC does with them: log densities of random variables with their gradients, random variables
that are graphs themselves, loops with draws, graphs copied, batched and rewritten. ``tools.pymc_values`` records what
they return with PyTensor; the test beside this file runs them on treadle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.basic import Apply, Constant
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.replace import clone_replace, graph_replace, vectorize_graph
from pytensor.graph.rewriting.basic import EquilibriumGraphRewriter, in2out, node_rewriter
from pytensor.graph.rewriting.db import EquilibriumDB, RewriteDatabaseQuery
from pytensor.graph.traversal import ancestors, graph_inputs
from pytensor.ifelse import ifelse
from pytensor.tensor.linalg import cholesky, solve_triangular
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.type import random_generator_type

if TYPE_CHECKING:
    from collections.abc import Callable

Results = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Program:
    """A function that returns arrays by name."""

    run: Callable[[], Results]


PROGRAMS: dict[str, Program] = {}


def program(function: Callable[[], Results]) -> Callable[[], Results]:
    """Register a program under its name."""
    PROGRAMS[function.__name__] = Program(function)
    return function


def normal_logp(value: Any, mu: Any, sigma: Any) -> Any:
    """Return the log density of a normal distribution."""
    return -0.5 * ((value - mu) / sigma) ** 2 - pt.log(pt.sqrt(2.0 * np.pi)) - pt.log(sigma)


def at_points(cost: Any, values: list[Any], points: list[list[np.ndarray]]) -> Results:
    """Return a log density and its gradient, all variables in one vector, at some points."""
    gradient = pt.concatenate([g.ravel() for g in pytensor.grad(cost, values)])
    function = pytensor.function(values, [cost, gradient])
    outputs = [function(*point) for point in points]
    return {"logp": np.array([o[0] for o in outputs]), "dlogp": np.array([o[1] for o in outputs])}


def around(values: list[Any], shapes: list[tuple[int, ...]], count: int = 3) -> list[list[np.ndarray]]:
    """Return points with a seed, the first of them zero."""
    rng = np.random.default_rng(1)
    return [[np.asarray(0.3 * i * rng.normal(size=shape)) for shape in shapes] for i in range(count) if values]


@program
def eight_schools() -> Results:
    """Random variables replaced by values, their log density and its gradient."""
    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    mu = pt.random.normal(0, 5, name="mu")
    tau = pt.exp(pt.random.normal(0, 1, name="log_tau"))
    raw = pt.random.normal(0, 1, size=8, name="raw")
    theta = mu + tau * raw
    theta.name = "theta"
    found = {v.name: v for v in ancestors([theta]) if v.owner is not None and isinstance(v.owner.op, RandomVariable)}
    values = {name: v.clone(name=f"{name}_value") for name, v in found.items()}
    (given,) = graph_replace([theta], {found[name]: value for name, value in values.items()})
    cost = normal_logp(pt.as_tensor(effects), given, errors).sum()
    for name, value in values.items():
        _, _, location, scale = found[name].owner.inputs
        cost += normal_logp(value, location, scale).sum()
    order = [values[name] for name in ("mu", "log_tau", "raw")]
    results = at_points(cost, order, around(order, [(), (), (8,)]))
    batches = vectorize_graph(cost, {values["raw"]: pt.matrix("batch", shape=(None, 8))})
    inputs = [v for v in graph_inputs([batches]) if v.name in {"mu_value", "log_tau_value", "batch"}]
    batch = pytensor.function(sorted(inputs, key=lambda v: v.name), batches)
    rows = np.arange(16.0).reshape(2, 8) / 10
    # In the order of their names: batch, log_tau_value, mu_value.
    return results | {"batches": batch(rows, 0.1, 1.5)}


@program
def varying_slopes() -> Results:
    """A Cholesky factor filled from a vector, vectors that it correlates, indexing by group."""
    rng = np.random.default_rng(2)
    group, x = rng.integers(0, 5, size=30), rng.normal(size=30)
    y = 1.0 + 0.5 * x + rng.normal(size=30)
    packed, raw, log_sigma = pt.vector("packed"), pt.matrix("raw"), pt.scalar("log_sigma")
    factor = pt.zeros((2, 2))
    factor = pt.set_subtensor(factor[np.tril_indices(2)], packed)
    diagonal = np.array([0, 2])
    factor = pt.set_subtensor(factor[pt.arange(2), pt.arange(2)], pt.exp(packed[diagonal]))
    effects = pt.dot(raw, factor.T)
    mean = effects[group, 0] + effects[group, 1] * x
    scales = pt.sqrt((factor**2).sum(axis=1))
    correlation = (factor / scales[:, None]) @ (factor / scales[:, None]).T
    cost = normal_logp(pt.as_tensor(y), mean, pt.exp(log_sigma)).sum()
    cost += normal_logp(raw, 0.0, 1.0).sum() - scales.sum() + pt.log(pt.linalg.det(correlation))
    return at_points(cost, [packed, raw, log_sigma], around([packed], [(3,), (5, 2), ()]))


@program
def mixture() -> Results:
    """Sums of densities as logarithms, components picked by switches, a simplex with its Jacobian."""
    y = np.random.default_rng(3).normal(size=20)
    open_weights, means, log_scales = pt.vector("open"), pt.vector("means"), pt.vector("log_scales")
    full = pt.concatenate([open_weights, -pt.sum(open_weights, keepdims=True)])
    weights = pt.special.log_softmax(full)
    parts = weights + normal_logp(pt.as_tensor(y)[:, None], pt.cumsum(pt.exp(means)), pt.exp(log_scales))
    cost = pt.logsumexp(parts, axis=1).sum()
    cost += pt.switch(pt.ge(means, -5.0), normal_logp(means, 0.0, 2.0), -np.inf).sum()
    cost += pt.special.gammaln(pt.exp(log_scales)).sum() + pt.log(pt.as_tensor(3.0)) - 3 * pt.logsumexp(full)
    return at_points(cost, [open_weights, means, log_scales], around([means], [(2,), (3,), (3,)]))


@program
def gaussian_process() -> Results:
    """A covariance of distances, its Cholesky factor, a triangular system, and the derivatives of all."""
    x = np.linspace(0, 3, 8)
    y = np.sin(x)
    log_length, log_eta = pt.scalar("log_length"), pt.scalar("log_eta")
    distance = pt.abs(pt.as_tensor(x)[:, None] - x[None, :]) / pt.exp(log_length)
    root = pt.sqrt(5.0 * distance**2 + 1e-12)
    cov = pt.exp(2 * log_eta) * (1 + root + root**2 / 3) * pt.exp(-root) + 0.1 * pt.eye(8)
    factor = cholesky(cov, lower=True)
    z = solve_triangular(factor, pt.as_tensor(y), lower=True, b_ndim=1)
    cost = -0.5 * pt.dot(z, z) - pt.log(pt.diagonal(factor)).sum()
    return at_points(cost, [log_length, log_eta], around([log_eta], [(), ()]))


@program
def autoregression() -> Results:
    """A loop with two previous values, backwards through its steps."""
    noise = np.random.default_rng(4).normal(size=10)
    rho, start = pt.vector("rho"), pt.vector("start")
    states, updates = pytensor.scan(
        lambda e, older, newer, rho: rho[0] * newer + rho[1] * older + e,
        sequences=[pt.as_tensor(noise)],
        outputs_info=[{"initial": start, "taps": [-2, -1]}],
        non_sequences=[rho],
    )
    cost = -(states**2).sum() + states[-1]
    results = at_points(cost, [rho, start], around([rho], [(2,), (2,)]))
    return results | {"updates": np.array(len(updates)), "states": states.eval({rho: [0.5, 0.1], start: [1.0, 2.0]})}


@program
def kalman_filter() -> Results:
    """A loop that carries a vector and a matrix, and gives a term a step."""
    y = np.random.default_rng(5).normal(size=12).cumsum()
    log_noise = pt.vector("log_noise")

    def step(observed: Any, mean: Any, cov: Any, noise: Any) -> list[Any]:
        move = pt.as_tensor(np.array([[1.0, 1.0], [0.0, 1.0]]))
        predicted, spread = move @ mean, move @ cov @ move.T + pt.diag(noise[:2])
        variance = spread[0, 0] + noise[2]
        gain, surprise = spread[:, 0] / variance, observed - predicted[0]
        return [
            predicted + gain * surprise,
            spread - pt.outer(gain, spread[0]),
            -0.5 * (pt.log(variance) + surprise**2 / variance),
        ]

    outputs, _ = pytensor.scan(
        step,
        sequences=[pt.as_tensor(y)],
        outputs_info=[pt.zeros(2), pt.eye(2) * 5.0, None],
        non_sequences=[pt.exp(log_noise)],
    )
    return at_points(outputs[2].sum(), [log_noise], around([log_noise], [(3,)]))


@program
def symbolic_random_variables() -> Results:
    """Random variables that are graphs of others, with their generators as inputs and outputs."""
    rng, mu = random_generator_type("rng"), pt.scalar("mu")
    next_rng, uniform = pt.random.uniform(0.0, 1.0, size=(4,), rng=rng).owner.outputs
    truncated = mu + np.sqrt(2.0) * pt.erfinv(2 * (0.5 + 0.5 * uniform) - 1)
    half = OpFromGraph([rng, mu], [next_rng, truncated], inline=True)
    state = pytensor.shared(np.random.default_rng(6), name="state")
    after, draw = half(state, pt.as_tensor(1.5, dtype="float64"))
    function = pytensor.function([], [draw, draw.sum()], updates={state: after})
    first, second = function(), function()
    inner = [type(node.op).__name__ for node in half.fgraph.toposort() if isinstance(node.op, RandomVariable)]
    return {"first": first[0], "sum": first[1], "second": second[0], "inner": np.array(len(inner))}


@program
def draws() -> Results:
    """Draws of many distributions, each with a generator of its own seed."""

    def make(build: Callable[[Any], Any]) -> Any:
        rng = pytensor.shared(np.random.default_rng(7))
        return pytensor.function([], build(rng))()

    cov = np.array([[2.0, 0.3], [0.3, 1.0]])
    return {
        "normal": make(lambda rng: pt.random.normal([0.0, 10.0], 2.0, size=(3, 2), rng=rng)),
        "gamma": make(lambda rng: pt.random.gamma(2.0, scale=0.5, size=3, rng=rng)),
        "beta": make(lambda rng: pt.random.beta(2.0, [3.0, 4.0], rng=rng)),
        "student": make(lambda rng: pt.random.t(3.0, 0.0, 1.0, size=3, rng=rng)),
        "poisson": make(lambda rng: pt.random.poisson([1.0, 20.0, 300.0], rng=rng)),
        "binomial": make(lambda rng: pt.random.binomial(10, [0.2, 0.5, 0.9], rng=rng)),
        "categorical": make(lambda rng: pt.random.categorical([0.2, 0.5, 0.3], size=6, rng=rng)),
        "dirichlet": make(lambda rng: pt.random.dirichlet([1.0, 2.0, 3.0], size=2, rng=rng)),
        "mv_normal": make(lambda rng: pt.random.multivariate_normal([0.0, 5.0], cov, size=3, rng=rng)),
        "multinomial": make(lambda rng: pt.random.multinomial(10, [0.2, 0.3, 0.5], size=2, rng=rng)),
        "integers": make(lambda rng: pt.random.integers(0, 100, size=5, rng=rng)),
        "wald": make(lambda rng: pt.random.wald(1.0, 2.0, size=3, rng=rng)),
        "gumbel": make(lambda rng: pt.random.gumbel(0.0, 1.0, size=3, rng=rng)),
        "cauchy": make(lambda rng: pt.random.cauchy(0.0, 1.0, size=3, rng=rng)),
    }


class _Shifted(RandomVariable):  # type: ignore[misc] # PyTensor, or treadle under its name, is not there for mypy
    """An exponential distribution moved, as users declare one."""

    name = "shifted"
    signature = "(),()->()"
    dtype = "floatX"
    _print_name = ("Shifted", r"\operatorname{Shifted}")

    @classmethod
    def rng_fn(cls, rng: Any, shift: Any, scale: Any, size: Any) -> Any:
        return shift + rng.exponential(scale, size=size)


@program
def declared_random_variable() -> Results:
    """A distribution of the user's own: sizes, batches of its parameters, its gradient cut."""
    shifted = _Shifted()
    rng = pytensor.shared(np.random.default_rng(8))
    draw = shifted(1.0, pt.as_tensor([2.0, 100.0]), rng=rng)
    zero, one = pt.constant(0.0, dtype="float64"), pt.constant(1.0, dtype="float64")
    sized = shifted(zero, one, size=(2, 3), rng=rng)
    next_rng, _ = sized.owner.outputs
    later = shifted(zero, one, rng=next_rng)
    outputs = pytensor.function([], [draw, sized, later])()
    matrix = pt.matrix("matrix")
    batched = vectorize_graph(shifted(pt.vector("v"), one, rng=rng), {})
    names = {"draw": outputs[0], "sized": outputs[1], "later": outputs[2]}
    return names | {"ndim": np.array([draw.ndim, sized.ndim, batched.ndim, shifted.ndim_supp, matrix.ndim])}


@program
def loop_with_draws() -> Results:
    """A walk whose steps are drawn inside of the loop, the generator carried along."""
    rng = pytensor.shared(np.random.default_rng(9), name="rng")
    scale = pt.scalar("scale")

    def step(previous: Any, scale: Any) -> tuple[Any, dict[Any, Any]]:
        next_rng, move = pt.random.normal(0.0, scale, rng=rng).owner.outputs
        return previous + move, {rng: next_rng}

    states, updates = pytensor.scan(
        step, outputs_info=[pt.zeros((), dtype="float64")], non_sequences=[scale], n_steps=5
    )
    function = pytensor.function([scale], states, updates=updates)
    return {"first": function(1.0), "second": function(0.1)}


@program
def stochastic_gradient() -> Results:
    """Rows drawn anew in each call, parameters that move: shared variables and their updates."""
    rng = np.random.default_rng(10)
    x = rng.normal(size=(50, 3))
    y = (x @ [1.0, -1.0, 0.5] > 0).astype("float64")
    data, labels = pytensor.shared(x, name="x"), pytensor.shared(y, name="y")
    weights = pytensor.shared(np.zeros(3), name="weights")
    state = pytensor.shared(np.random.default_rng(11))
    next_state, rows = pt.random.integers(0, 50, size=10, rng=state).owner.outputs
    score = pt.dot(data[rows], weights)
    loss = pt.mean(pt.softplus(score) - labels[rows] * score)
    gradient = pytensor.grad(loss, weights)
    step = pytensor.function([], loss, updates={weights: weights - 0.5 * gradient, state: next_state})
    losses = [step() for _ in range(5)]
    data.set_value(x[:, ::-1].copy())
    losses.append(step())
    return {"losses": np.array(losses), "weights": weights.get_value()}


class _Expectation(Op):  # type: ignore[misc] # as above
    """A function of the user's, of a vector, with a gradient of its own."""

    __props__ = ("power",)

    def __init__(self, power: int) -> None:
        self.power = power

    def make_node(self, x: Any) -> Any:
        return Apply(self, [pt.as_tensor_variable(x)], [pt.dscalar()])

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = np.asarray((inputs[0] ** self.power).mean())

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        (x,) = inputs
        return [cotangents[0] * self.power * x ** (self.power - 1) / x.size]

    def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> list[Any]:
        return [()]


@program
def declared_op() -> Results:
    """An op of the user's in a density: its gradient, equal ops merged."""
    x = pt.vector("x")
    cost = -((_Expectation(2)(x) - 1.0) ** 2) + _Expectation(3)(pt.exp(x))
    equal = _Expectation(2) == _Expectation(2), _Expectation(2) == _Expectation(3)
    return at_points(cost, [x], around([x], [(4,)])) | {"equal": np.array(equal)}


@node_rewriter([RandomVariable])  # type: ignore[untyped-decorator] # as above
def mean_of_normal(fgraph: Any, node: Any) -> Any:  # noqa: ARG001 - rewriters are called so
    """A normal random variable -> its mean, as PyMC's initial points have it."""
    if not type(node.op).__name__.startswith("Normal"):
        return None
    rng, size, mu, _ = node.inputs
    return [rng, pt.full(size, mu) if node.outputs[1].ndim else mu]


@program
def rewriting() -> Results:
    """A rewrite of the user's on a graph of random variables, by itself and from a database."""
    mu = pt.scalar("mu")
    x = pt.random.normal(mu, 1.0, size=(3,), name="x")
    y = pt.random.normal(x.sum(), 2.0, name="y")
    total = x.prod() + y
    results: Results = {}
    rewriters = {
        "in2out": in2out(mean_of_normal),
        "equilibrium": EquilibriumGraphRewriter([mean_of_normal], max_use_ratio=10),
    }
    database = EquilibriumDB()
    database.register("mean_of_normal", mean_of_normal, "basic")
    rewriters["database"] = database.query(RewriteDatabaseQuery(include=["basic"]))
    for name, rewriter in rewriters.items():
        graph = FunctionGraph(outputs=[total], clone=True, copy_inputs=False)
        rewriter.rewrite(graph)
        left = sum(isinstance(node.op, RandomVariable) for node in graph.toposort())
        (output,) = graph.outputs
        results[name] = np.array([output.eval({mu: 2.0}), left])
    return results


@program
def graphs_by_hand() -> Results:
    """Graphs copied, replaced in place and counted; the order in which variables are met."""
    a, b, c = pt.vectors("a", "b", "c")
    inner = pt.exp(a) + b
    outer = pt.log1p(inner * c) + inner
    copied = clone_replace(outer, {inner: a * 3})
    graph = FunctionGraph([a, b, c], [outer], clone=True)
    sums = [node for node in graph.toposort() if node.inputs == list(graph.inputs[:0]) or len(node.inputs) == 2]
    inputs = [v.name for v in graph_inputs([outer]) if not isinstance(v, Constant)]
    graph.replace(graph.inputs[1], graph.inputs[0] * 2)
    at = {a: [0.1, 0.2], b: [1.0, 2.0], c: [3.0, 4.0]}
    changed = pytensor.function(graph.inputs, graph.outputs, on_unused_input="ignore")(*at.values())
    return {
        "copied": copied.eval({a: at[a], c: at[c]}),
        "changed": changed[0],
        "inputs": np.array(inputs),
        "met": np.array([v.name for v in ancestors([outer]) if v.name]),
        "nodes": np.array(len(sums)),
    }


@program
def second_derivatives() -> Results:
    """Jacobians and Hessians, products with vectors, gradients that are cut or kept at zero."""
    x, v = pt.vector("x"), pt.vector("v")
    y = pt.cumsum(x) ** 2 * pt.sin(x[0])
    cost = y.sum()
    outputs = [
        pytensor.gradient.jacobian(y, x),
        pytensor.gradient.hessian(cost, x),
        pytensor.gradient.hessian_vector_product(cost, x, v),
        pytensor.grad((pytensor.gradient.disconnected_grad(x) * x).sum(), x),
        pytensor.grad(pytensor.gradient.zero_grad(x).sum() + cost, x),
        pytensor.gradient.Lop(y, x, v),
        pytensor.gradient.Rop(y, x, v),
    ]
    names = ["jacobian", "hessian", "product", "cut", "zero", "left", "right"]
    values = pytensor.function([x, v], outputs)(np.array([0.3, 0.7, -1.1]), np.array([1.0, 2.0, 3.0]))
    return dict(zip(names, values, strict=True))


@program
def missing_data() -> Results:
    """Values by masks, conditions on whole branches, lengths that the data decide."""
    table = np.array([[1.0, np.nan, 2.0], [np.nan, 0.5, 1.5]])
    mask = np.isnan(table)
    unknown, mu = pt.vector("unknown"), pt.vector("mu")
    filled = pt.set_subtensor(pt.as_tensor(np.where(mask, 0.0, table))[mask.nonzero()], unknown)
    cost = normal_logp(filled, mu, 1.0).sum()
    cost = ifelse(pt.all(pt.lt(mu, 100.0)), cost, pt.as_tensor(-np.inf, dtype="float64"))
    results = at_points(cost, [unknown, mu], around([mu], [(2,), (3,)]))
    data = pytensor.shared(np.arange(3.0), shape=(None,))
    scaled = pytensor.function([], [(data * 2).sum() / data.shape[0], pt.cumsum(data)])
    first = scaled()
    data.set_value(np.arange(5.0))
    second = scaled()
    return results | {"first": first[1], "second": second[1], "means": np.array([first[0], second[0]])}


@program
def batched_densities() -> Results:
    """A density of vectors batched: Cholesky factors and systems along leading dimensions."""
    x, cov = pt.vector("x"), pt.matrix("cov")
    factor = cholesky(cov)
    z = solve_triangular(factor, x, lower=True, b_ndim=1)
    density = -0.5 * (z**2).sum() - pt.log(pt.diagonal(factor)).sum()
    xs, covs = pt.matrix("xs"), pt.tensor3("covs")
    batched = vectorize_graph(density, {x: xs, cov: covs})
    gradient = pytensor.grad(batched.sum(), covs)
    rng = np.random.default_rng(12)
    factors = rng.normal(size=(4, 3, 3))
    matrices = factors @ factors.swapaxes(1, 2) + 3 * np.eye(3)
    values = pytensor.function([xs, covs], [batched, gradient])(rng.normal(size=(4, 3)), matrices)
    return {"densities": values[0], "gradient": values[1]}
