"""The graphs whose rewriting is measured: each built alike by treadle and by PyTensor, whose modules are passed."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

# Runs of each graph, after one that warms up.
RUNS = 3


@dataclass(frozen=True, slots=True)
class GraphModel:
    """A graph to rewrite.

    Attributes
    ----------
    title
        What the table calls it.
    build
        Takes a module with tensor functions and one with ``grad``; returns inputs and outputs.
    shapes
        Shapes of the inputs, for comparing what the systems compute.
    """

    title: str
    build: Callable[[Any, Any], tuple[list[Any], list[Any]]]
    shapes: tuple[tuple[int, ...], ...]


def _double(tt: Any, _: Any) -> tuple[list[Any], list[Any]]:
    x = tt.dvector("x")
    return [x], [2 * x]


def _chain(tt: Any, _: Any) -> tuple[list[Any], list[Any]]:
    x = tt.dvector("x")
    total = x
    for i in range(50):
        total = tt.sin(total) * 1.01 + 0.01 * i if i % 2 else tt.tanh(total) - 0.5
    return [x], [total]


def _logistic(tt: Any, gradient: Any) -> tuple[list[Any], list[Any]]:
    x, y, w, b = tt.dmatrix("x"), tt.dvector("y"), tt.dvector("w"), tt.dscalar("b")
    score = tt.dot(x, w) + b
    loss = (tt.softplus(score) - y * score).mean() + 0.005 * (w**2).sum()
    w_slope, b_slope = gradient.grad(loss, [w, b])
    return [x, y, w, b], [loss, w - 0.1 * w_slope, b - 0.1 * b_slope]


def _perceptron(tt: Any, gradient: Any) -> tuple[list[Any], list[Any]]:
    x, y = tt.dmatrix("x"), tt.dmatrix("y")
    weights = [tt.dmatrix(f"w{i}") for i in range(3)]
    biases = [tt.dvector(f"b{i}") for i in range(3)]
    h = x
    for w, b in zip(weights[:-1], biases[:-1], strict=True):
        h = tt.tanh(tt.dot(h, w) + b)
    score = tt.dot(h, weights[-1]) + biases[-1]
    score = score - score.max(axis=1, keepdims=True)
    log_odds = score - tt.log(tt.exp(score).sum(axis=1, keepdims=True))
    loss = -(y * log_odds).sum(axis=1).mean()
    parameters = [*weights, *biases]
    slopes = gradient.grad(loss, parameters)
    return [x, y, *parameters], [loss, *(p - 0.1 * s for p, s in zip(parameters, slopes, strict=True))]


def _radon(tt: Any, gradient: Any) -> tuple[list[Any], list[Any]]:
    mu, scale, slope, noise = (tt.dscalar(name) for name in ("mu", "scale", "slope", "noise"))
    raw, floor, y = tt.dvector("raw"), tt.dvector("floor"), tt.dvector("y")
    sigma = tt.exp(noise)
    group = np.arange(919) % 85
    center = (mu + tt.exp(scale) * raw)[group] + slope * floor
    density = -0.5 * (mu**2 + scale**2 + slope**2 + noise**2) - 0.5 * (raw**2).sum()
    density = density + (-0.5 * ((y - center) / sigma) ** 2 - tt.log(sigma)).sum()
    inputs = [mu, scale, slope, noise, raw]
    return [*inputs, floor, y], [density, *gradient.grad(density, inputs)]


def _hierarchical(tt: Any, gradient: Any) -> tuple[list[Any], list[Any]]:
    mu, scale, noise = tt.dscalar("mu"), tt.dscalar("scale"), tt.dscalar("noise")
    groups = [tt.dscalar(f"g{i}") for i in range(30)]
    x, y = tt.dvector("x"), tt.dvector("y")
    spread, sigma = tt.exp(scale), tt.exp(noise)
    density = -0.5 * mu**2 - 0.5 * scale**2 - 0.5 * noise**2
    for i, g in enumerate(groups):
        density = density - 0.5 * ((g - mu) / spread) ** 2 - tt.log(spread)
        center = g + mu * tt.tanh(x * (i + 1)) / (1 + tt.exp(-x))
        density = density + (-0.5 * ((y - center) / sigma) ** 2 - tt.log(sigma)).sum()
    inputs = [mu, scale, noise, *groups]
    return [*inputs, x, y], [density, *gradient.grad(density, inputs)]


MODELS = {
    "double": GraphModel("2x", _double, ((3,),)),
    "chain": GraphModel("chain of 50 elementwise ops", _chain, ((3,),)),
    "logistic": GraphModel("logistic regression, loss + step", _logistic, ((7, 3), (7,), (3,), ())),
    "perceptron": GraphModel(
        "MLP, 3 layers, cross-entropy, step",
        _perceptron,
        ((5, 4), (5, 2), (4, 6), (6, 3), (3, 2), (6,), (3,), (2,)),
    ),
    "radon": GraphModel("radon-like model, 85 groups, + gradient", _radon, ((), (), (), (), (85,), (919,), (919,))),
    "hierarchical": GraphModel(
        "hierarchical model, 30 groups unrolled, + gradient", _hierarchical, ((),) * 33 + ((4,), (4,))
    ),
}


def synthetic(tt: Any, gradient: Any, kind: str, nodes: int) -> tuple[list[Any], list[Any]]:
    """Return inputs and outputs of a graph of about this many nodes: ``elementwise``, or ``gradient`` of a deep one."""
    x, w = tt.dvector("x"), tt.dvector("w")
    total = x
    if kind == "elementwise":
        for i in range(nodes // 4):
            total = tt.sin(total) * x + (0.5 + i)
        return [x], [total]
    for i in range(nodes // 48):
        total = tt.tanh(total * w + 1.5) * tt.exp(-total * total) + tt.log(1 + tt.exp(total)) / (i + 2)
    return [x, w], [total.sum(), *gradient.grad(total.sum(), [x, w])]


def _treadle() -> tuple[Any, Any, Callable[[Any, Any], Any], Callable[[Any], Any]]:
    import treadle.tensor as tt  # noqa: PLC0415 - each process imports one system
    from treadle.graph import FunctionGraph  # noqa: PLC0415 - as above
    from treadle.rewrite import default_database  # noqa: PLC0415 - as above

    return tt, tt, FunctionGraph, default_database().query("fast_run").rewrite


def _pytensor() -> tuple[Any, Any, Callable[[Any, Any], Any], Callable[[Any], Any]]:
    import pytensor  # noqa: PLC0415 - each process imports one system
    import pytensor.tensor as tt  # noqa: PLC0415 - as above
    from pytensor.compile import Supervisor  # noqa: PLC0415 - as above
    from pytensor.compile.mode import Mode  # noqa: PLC0415 - as above
    from pytensor.graph.fg import FunctionGraph  # noqa: PLC0415 - as above

    def graph(inputs: Any, outputs: Any) -> Any:
        # As its own function() does: without a Supervisor, in-place work is left out.
        fgraph = FunctionGraph(inputs, outputs, clone=True)
        fgraph.attach_feature(Supervisor(fgraph.inputs))
        return fgraph

    rewriter = Mode("vm", "fast_run").optimizer
    return tt, pytensor.gradient, graph, rewriter.rewrite


def _values(shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [np.asarray(rng.normal(size=shape)) for shape in shapes]


def _result(system: str, inputs: list[Any], outputs: list[Any], fgraph: Any, values: list[Any]) -> float:
    """Return the sum of all outputs: treadle's computed after rewriting, PyTensor's as written."""
    if system == "treadle":
        from treadle.link.vm import PythonLinker  # noqa: PLC0415 - each process imports one system

        results = PythonLinker().link(fgraph)(*values)
    else:
        import pytensor  # noqa: PLC0415 - as above
        from pytensor.compile.mode import Mode  # noqa: PLC0415 - as above

        # NumPy's functions, which it computes with in Python, take no sum of as many terms as its rewrites make.
        results = pytensor.function(inputs, outputs, mode=Mode("py", None))(*values)
    return float(sum(np.sum(np.asarray(r)) for r in results))


def measure(name: str, system: str) -> dict[str, Any]:
    """Return what rewriting a model costs one system: nodes before, seconds of CPU time, what the graph then computes.

    A name such as ``elementwise:1000`` is that of a synthetic graph.
    """
    tt, gradient, make, rewrite = _treadle() if system == "treadle" else _pytensor()
    kind, _, nodes = name.partition(":")
    build = partial(synthetic, kind=kind, nodes=int(nodes)) if nodes else MODELS[name].build
    rewrite(make(*_logistic(tt, gradient)))
    times, size, fgraph = [], 0, None
    inputs: list[Any] = []
    outputs: list[Any] = []
    for _ in range(RUNS if not nodes or int(nodes) <= 10_000 else 1):
        inputs, outputs = build(tt, gradient)
        fgraph = make(inputs, outputs)
        size = len(fgraph.apply_nodes)
        start = time.process_time()
        rewrite(fgraph)
        times.append(time.process_time() - start)
    answer: dict[str, Any] = {"nodes": size, "seconds": statistics.median(times)}
    if not nodes:
        answer["check"] = _result(system, inputs, outputs, fgraph, _values(MODELS[name].shapes))
    return answer
