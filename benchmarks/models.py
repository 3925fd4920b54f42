"""The expressions that are measured: each as a treadle graph, and as the same thing in NumPy or JAX by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Model:
    """One expression to measure.

    Attributes
    ----------
    title
        What the table calls it.
    values
        Makes the arguments, from a seeded generator.
    graph
        Takes treadle's input variables, returns (inputs, output or outputs, updates).
    by_hand
        The same with an array module (``numpy`` or ``jax.numpy``), arguments as given.
    """

    title: str
    values: Callable[[np.random.Generator], list[Any]]
    graph: Callable[[], tuple[list[Any], Any, Any]]
    by_hand: Callable[..., Any]


def _seven(xp: Any, x: Any, y: Any) -> Any:
    return xp.tanh(2 * x + 1) * xp.exp(-x * x) + xp.sin(y) * xp.cos(x) + xp.log1p(xp.exp(y)) + xp.sqrt(x * x + 1)


def _graph_of(function: Any, *ndims: int) -> Callable[[], tuple[list[Any], Any, Any]]:
    def build() -> tuple[list[Any], Any, Any]:
        import treadle.tensor as tt  # noqa: PLC0415 - the import is part of what is measured

        inputs = [tt.tensor(f"x{i}", ndim=n) for i, n in enumerate(ndims)]
        return inputs, function(tt, *inputs), None

    return build


def _chain(xp: Any, x: Any) -> Any:
    for i in range(50):
        x = xp.sin(x) * 1.01 + 0.01 * i if i % 2 else xp.tanh(x) - 0.5
    return x


def _softmax(xp: Any, x: Any) -> Any:
    if hasattr(xp, "softmax"):
        return xp.softmax(x, axis=1)
    e = xp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _logistic() -> tuple[list[Any], Any, Any]:
    import treadle.tensor as tt  # noqa: PLC0415 - the import is part of what is measured
    from treadle.compile import shared  # noqa: PLC0415 - as above

    x, y = tt.matrix("x"), tt.vector("y")
    w, b = shared(np.zeros(100), name="w"), shared(0.0, name="b")
    score = x @ w + b
    loss = (tt.softplus(score) - y * score).mean() + 0.005 * (w**2).sum()
    w_slope, b_slope = tt.grad(loss, [w, b])
    return [x, y], loss, {w: w - 0.1 * w_slope, b: b - 0.1 * b_slope}


def _logistic_by_hand(xp: Any, x: Any, y: Any) -> Any:
    """Return the first step's loss, and compute the step itself."""
    w, b = xp.zeros(100), 0.0
    score = x @ w + b
    loss = (xp.logaddexp(0, score) - y * score).mean() + 0.005 * (w**2).sum()
    error = (1 / (1 + xp.exp(-score)) - y) / len(y)
    step = (w - 0.1 * (x.T @ error + 0.01 * w), b - 0.1 * error.sum())
    return loss + 0 * step[1]


def _normal(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], list[Any]]:
    return lambda rng: [np.asarray(rng.normal(size=s)) for s in shapes]


def _labelled(rng: np.random.Generator) -> list[Any]:
    return [rng.normal(size=(10_000, 100)), (rng.random(10_000) < 0.5).astype("float64")]


def _elementwise(title: str, size: int) -> Model:
    return Model(title, _normal((size,), (size,)), _graph_of(_seven, 1, 1), _seven)


LOGISTIC = Model("logistic regression step, 10,000 x 100", _labelled, _logistic, _logistic_by_hand)

COMPILE = {
    "double": Model("2x", _normal((3,)), _graph_of(lambda xp, x: 2 * x, 1), lambda xp, x: 2 * x),
    "chain": Model("chain of 50 elementwise ops", _normal((3,)), _graph_of(_chain, 1), _chain),
    "logistic": LOGISTIC,
}
CALL = {
    "scalar": Model("x + 1, 0-d", _normal(()), _graph_of(lambda xp, x: x + 1, 0), lambda xp, x: x + 1),
    "ten": Model("x + 1, 10 elements", _normal((10,)), _graph_of(lambda xp, x: x + 1, 1), lambda xp, x: x + 1),
}
RUN = {
    "seven6": _elementwise("7 transcendental ops, 1e6", 10**6),
    "seven3": _elementwise("7 transcendental ops, 1e3", 10**3),
    "sum_seven": Model(
        "sum of 7 transcendental ops, 1e6",
        _normal((10**6,), (10**6,)),
        _graph_of(lambda xp, x, y: _seven(xp, x, y).sum(), 1, 1),
        lambda xp, x, y: _seven(xp, x, y).sum(),
    ),
    "axis0": Model(
        "sum over axis 0, 2000 x 2000",
        _normal((2000, 2000)),
        _graph_of(lambda xp, x: x.sum(axis=0), 2),
        lambda xp, x: x.sum(axis=0),
    ),
    "axis1": Model(
        "sum over axis 1, 2000 x 2000",
        _normal((2000, 2000)),
        _graph_of(lambda xp, x: x.sum(axis=1), 2),
        lambda xp, x: x.sum(axis=1),
    ),
    "max1": Model(
        "max over axis 1, 2000 x 2000",
        _normal((2000, 2000)),
        _graph_of(lambda xp, x: x.max(axis=1), 2),
        lambda xp, x: x.max(axis=1),
    ),
    "softmax": Model("softmax over rows, 2000 x 2000", _normal((2000, 2000)), _graph_of(_softmax, 2), _softmax),
    "logistic": LOGISTIC,
}
SECTIONS = {"compile": COMPILE, "call": CALL, "run": RUN}
