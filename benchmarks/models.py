"""The expressions that are measured, each written once for any array module: NumPy's, JAX's, treadle's, PyTensor's."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import linear_algebra
from benchmarks.model import Model

if TYPE_CHECKING:
    from collections.abc import Callable


# Elementwise


def _special(name: str) -> Callable[..., Any]:
    """Return a special function by its name in SciPy."""

    def expression(xp: Any, *xs: Any) -> Any:
        library = {"jax.numpy": "jax.scipy.special", "numpy": "scipy.special"}.get(xp.__name__)
        return getattr(xp if library is None else import_module(library), name)(*xs)

    return expression


def _seven(xp: Any, x: Any, y: Any) -> Any:
    return xp.tanh(2 * x + 1) * xp.exp(-x * x) + xp.sin(y) * xp.cos(x) + xp.log1p(xp.exp(y)) + xp.sqrt(x * x + 1)


def _cheap(xp: Any, x: Any, y: Any) -> Any:
    del xp
    return 2 * x + y * y - x * y


def _chain(xp: Any, x: Any) -> Any:
    for i in range(50):
        x = xp.sin(x) * 1.01 + 0.01 * i if i % 2 else xp.tanh(x) - 0.5
    return x


def _long(xp: Any, x: Any) -> Any:
    total = x
    for i in range(2500):
        total = xp.sin(total) * x + (0.5 + i % 7)
    return total


# Reductions


def _row_top(x: Any) -> Any:
    """Return the largest of each row, as a column."""
    return x.amax(1, keepdim=True) if hasattr(x, "amax") else x.max(axis=1, keepdims=True)


def _softmax(xp: Any, x: Any) -> Any:
    if hasattr(xp, "softmax"):
        return xp.softmax(x, 1) if hasattr(xp, "amax") else xp.softmax(x, axis=1)
    e = xp.exp(x - _row_top(x))
    return e / e.sum(axis=1, keepdims=True)


def _logsumexp(xp: Any, x: Any) -> Any:
    if hasattr(xp, "logsumexp"):
        return xp.logsumexp(x, 1) if hasattr(xp, "amax") else xp.logsumexp(x, axis=1)
    top = _row_top(x)
    return xp.log(xp.exp(x - top).sum(axis=1)) + top[:, 0]


def _max(axis: int) -> Callable[[Any, Any], Any]:
    return lambda _, x: x.amax(axis) if hasattr(x, "amax") else x.max(axis=axis)


def _sorted(xp: Any, x: Any) -> Any:
    result = xp.sort(x)
    return result[0] if isinstance(result, tuple) else result


def _positive(count: int) -> Callable[[np.random.Generator], list[Any]]:
    """Return so many arrays of 1e6 numbers from 0 to 20, and one from 0 to 1 as a third."""
    return lambda random: [random.uniform(0, 1 if at == 2 else 20, 10**6) for at in range(count)]


# Arrangement


def _rearranged(name: str, *options: Any) -> Callable[..., Any]:
    """Return a function of NumPy's that moves elements, by its name."""
    return lambda xp, x: getattr(xp, name)(x, *options)


# Products, convolutions, transforms


def _convolved(xp: Any, x: Any, w: Any) -> Any:
    if xp.__name__ == "jax.numpy":
        return import_module("jax.lax").conv(x, w, (1, 1), "VALID")
    return xp.conv2d(x, w)


def _convolution_energy(xp: Any, x: Any, w: Any) -> Any:
    return (_convolved(xp, x, w) ** 2).sum()


def _three(xp: Any, a: Any, b: Any, c: Any) -> Any:
    options = {"optimize": True} if xp.__name__ == "numpy" else {}
    return xp.einsum("ij,jkl,kl->il", a, b, c, **options)


def _transformed(xp: Any, x: Any) -> Any:
    return abs(xp.fft.fft(x))


# Models


def _softplus(xp: Any, x: Any) -> Any:
    if hasattr(xp, "logaddexp") and not hasattr(xp, "softplus"):
        return xp.logaddexp(x, xp.zeros(()))
    return xp.softplus(x)


def _logistic(xp: Any, w: Any, b: Any, x: Any, y: Any) -> Any:
    score = x @ w + b
    return (_softplus(xp, score) - y * score).mean() + 0.005 * (w**2).sum()


def _perceptron(xp: Any, *values: Any) -> Any:
    weights, biases, (h, y) = values[0:3], values[3:6], values[6:]
    for w, b in zip(weights[:-1], biases[:-1], strict=True):
        h = xp.tanh(h @ w + b)
    score = h @ weights[-1] + biases[-1]
    score = score - _row_top(score)
    log_odds = score - xp.log(xp.exp(score).sum(axis=1, keepdims=True))
    return -(y * log_odds).sum(axis=1).mean()


_GROUP = np.arange(919) % 85


def _radon(xp: Any, mu: Any, scale: Any, slope: Any, noise: Any, raw: Any, floor: Any, y: Any) -> Any:
    sigma = xp.exp(noise)
    center = (mu + xp.exp(scale) * raw)[_GROUP] + slope * floor
    density = -0.5 * (mu**2 + scale**2 + slope**2 + noise**2) - 0.5 * (raw**2).sum()
    return density + (-0.5 * ((y - center) / sigma) ** 2 - xp.log(sigma)).sum()


def _hierarchical(xp: Any, mu: Any, scale: Any, noise: Any, *values: Any) -> Any:
    groups, (x, y) = values[:30], values[30:]
    spread, sigma = xp.exp(scale), xp.exp(noise)
    density = -0.5 * mu**2 - 0.5 * scale**2 - 0.5 * noise**2
    for i, g in enumerate(groups):
        density = density - 0.5 * ((g - mu) / spread) ** 2 - xp.log(spread)
        center = g + mu * xp.tanh(x * (i + 1)) / (1 + xp.exp(-x))
        density = density + (-0.5 * ((y - center) / sigma) ** 2 - xp.log(sigma)).sum()
    return density


# Arguments


def _normal(*shapes: tuple[int, ...], scale: float = 1.0) -> Callable[[np.random.Generator], list[Any]]:
    return lambda rng: [np.asarray(scale * rng.normal(size=s)) for s in shapes]


def _labelled(rng: np.random.Generator) -> list[Any]:
    return [np.zeros(100), np.zeros(()), rng.normal(size=(10_000, 100)), (rng.random(10_000) < 0.5).astype("float64")]


def _digits(rng: np.random.Generator) -> list[Any]:
    weights = [0.05 * rng.normal(size=s) for s in ((784, 256), (256, 128), (128, 10))]
    biases = [np.zeros(n) for n in (256, 128, 10)]
    return [*weights, *biases, rng.normal(size=(256, 784)), np.eye(10)[rng.integers(0, 10, size=256)]]


def _taken(rng: np.random.Generator) -> list[Any]:
    return [rng.normal(size=10**6), rng.integers(0, 10**6, 10**6)]


def _masked(rng: np.random.Generator) -> list[Any]:
    x = rng.normal(size=10**6)
    return [x, x > 0]


def _counted(rng: np.random.Generator) -> list[Any]:
    return [rng.integers(0, 1000, 10**6)]


def _among(rng: np.random.Generator) -> list[Any]:
    return [np.sort(rng.normal(size=1000)), rng.normal(size=10**6)]


LOGISTIC = Model("logistic regression step, 10,000 x 100", _labelled, _logistic, slopes=(0, 1), step=0.1)
PERCEPTRON = Model(
    "MLP step, batch 256, 784-256-128-10", _digits, _perceptron, slopes=(0, 1, 2, 3, 4, 5), step=0.1,
    without=("torch",),
)  # fmt: skip
RADON = Model(
    "radon-like log density + gradient, 919 rows",
    _normal((), (), (), (), (85,), (919,), (919,), scale=0.3),
    _radon,
    slopes=(0, 1, 2, 3, 4),
    without=("torch",),
)
HIERARCHICAL = Model(
    "hierarchical model, 30 groups unrolled, value + gradient",
    _normal(*((),) * 33, (4,), (4,), scale=0.3),
    _hierarchical,
    slopes=tuple(range(33)),
    without=("torch",),
)

_PYTENSOR = ("pytensor-C", "pytensor-NUMBA")
COMPILE = {
    "double": Model("2x", _normal((3,)), lambda _, x: 2 * x),
    "chain": Model("chain of 50 elementwise ops", _normal((3,)), _chain),
    "logistic": LOGISTIC,
    "radon": RADON,
    "perceptron": PERCEPTRON,
    "hierarchical": HIERARCHICAL,
    "process": linear_algebra.PROCESS,
    "kalman": linear_algebra.KALMAN,
    "long": Model("10,000 elementwise nodes", _normal((3,)), _long, without=("pytensor-C", "pytensor-NUMBA", "torch")),
}
CALL = {
    "scalar": Model("x + 1, 0-d", _normal(()), lambda _, x: x + 1),
    "ten": Model("x + 1, 10 elements", _normal((10,)), lambda _, x: x + 1),
    "vectors": Model("sum of 10 vectors of 10", _normal(*((10,),) * 10), lambda _, *xs: sum(xs[1:], xs[0])),
    "counter": Model("counter += 1 (state, update)", lambda _: [], lambda _: None, without=("jax", "numpy")),
}
_PAIR, _SQUARE, _MILLION = _normal((10**7,), (10**7,)), _normal((2000, 2000)), _normal((10**6,))
RUN = {
    "seven7": Model("7 transcendental ops fused, 1e7", _PAIR, _seven, limit="seven"),
    "seven5": Model("the same, 1e5", _normal((10**5,), (10**5,)), _seven, limit="seven"),
    "seven3": Model("the same, 1e3", _normal((10**3,), (10**3,)), _seven, limit="seven"),
    "cheap": Model("cheap fused expression, 1e7", _PAIR, _cheap, limit="cheap"),
    "sum_seven": Model(
        "sum of the transcendental expression, 1e7", _PAIR, lambda xp, x, y: _seven(xp, x, y).sum(), limit="sum_seven"
    ),
    "sum_cheap": Model(
        "sum of the cheap expression, 1e7", _PAIR, lambda xp, x, y: _cheap(xp, x, y).sum(), limit="sum_cheap"
    ),
    "sum0": Model("sum over axis 0, 2000 x 2000", _SQUARE, lambda _, x: x.sum(axis=0), limit="sum0"),
    "sum1": Model("sum over axis 1, 2000 x 2000", _SQUARE, lambda _, x: x.sum(axis=1), limit="sum1"),
    "max0": Model("max over axis 0, 2000 x 2000", _SQUARE, _max(0), limit="max0"),
    "max1": Model("max over axis 1, 2000 x 2000", _SQUARE, _max(1), limit="max1"),
    "softmax": Model("softmax over rows, 2000 x 2000", _SQUARE, _softmax, limit="softmax"),
    "logsumexp": Model("logsumexp over rows, 2000 x 2000", _SQUARE, _logsumexp, limit="logsumexp"),
    "erf": Model("erf, 1e6", _MILLION, _special("erf")),
    "sort": Model("sort, 1e6", _MILLION, _sorted),
    "argsort": Model("argsort, 1e6", _MILLION, lambda xp, x: xp.argsort(x)),
    "median": Model("median, 1e6", _MILLION, lambda xp, x: xp.median(x), without=("torch",)),
    "cumsum": Model("cumsum, 1e6", _MILLION, lambda xp, x: xp.cumsum(x, 0)),
    "gammaln": Model("gammaln, 1e6", _positive(1), _special("gammaln")),
    "digamma": Model("digamma, 1e6", _positive(1), _special("digamma")),
    "betainc": Model("betainc, 1e6", _positive(3), _special("betainc"), without=("torch",)),
    "take": Model("x[i], 1e6 positions", _taken, lambda _, x, i: x[i]),
    "mask": Model("x[mask], 1e6", _masked, lambda _, x, m: x[m], without=("jax",)),
    "bincount": Model("bincount, 1e6 integers below 1000", _counted, lambda xp, i: xp.bincount(i), without=("jax",)),
    "searchsorted": Model("searchsorted, 1e6 among 1e3", _among, lambda xp, a, v: xp.searchsorted(a, v)),
    "unique": Model("unique, 1e6 integers below 1000", _counted, lambda xp, i: xp.unique(i), without=("jax",)),
    "repeat": Model("repeat by 2, 5e5", _normal((5 * 10**5,)), _rearranged("repeat", 2), without=("torch",)),
    "repeat_rows": Model(
        "repeat rows by 2, 500 x 1000", _normal((500, 1000)), _rearranged("repeat", 2, 0), without=("torch",)
    ),
    "tile": Model("tile by (2, 2), 500 x 500", _normal((500, 500)), _rearranged("tile", (2, 2))),
    "pad": Model(
        "pad by 3 zeros, 1000 x 1000", _normal((1000, 1000)), _rearranged("pad", 3), without=(*_PYTENSOR, "torch")
    ),
    "pad_edge": Model(
        "pad by 3 times the edge, 1000 x 1000",
        _normal((1000, 1000)),
        _rearranged("pad", 3, "edge"),
        without=(*_PYTENSOR, "torch"),
    ),
    "roll": Model(
        "roll by (3, 7), 1000 x 1000", _normal((1000, 1000)), _rearranged("roll", (3, 7), (0, 1)), without=_PYTENSOR
    ),
    "conv2d": Model(
        "2-d convolution, 32 x 3 x 64 x 64, 16 filters of 5 x 5",
        _normal((32, 3, 64, 64), (16, 3, 5, 5)),
        _convolved,
        without=("numpy", "pytensor-C", "pytensor-NUMBA"),
    ),
    "conv2d_slopes": Model(
        "the same, its squares summed, with both gradients",
        _normal((32, 3, 64, 64), (16, 3, 5, 5)),
        _convolution_energy,
        slopes=(0, 1),
        without=("numpy", "pytensor-C", "pytensor-NUMBA"),
    ),
    "einsum": Model("einsum ij,jkl,kl->il, 200", _normal((200, 200), (200, 200, 20), (200, 20)), _three),
    "fft": Model(
        "abs of the fft of 2^16 numbers", _normal((2**16,)), _transformed, without=("pytensor-C", "pytensor-NUMBA")
    ),
    "logistic": LOGISTIC,
    "perceptron": PERCEPTRON,
    "radon": RADON,
    "hierarchical": HIERARCHICAL,
    **linear_algebra.MODELS,
}
MEMORY = {name: RUN[name] for name in ("seven7", "sum_seven", "softmax", "perceptron")}
SECTIONS = {"compile": COMPILE, "call": CALL, "run": RUN, "memory": MEMORY}
