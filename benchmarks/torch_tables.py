"""Mode PYTORCH beside PyTorch written by hand: a call, the first result of a new process, and memory."""

from __future__ import annotations

import importlib.util
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.loops import CASES as LOOPS
from benchmarks.loops import Library, Treadle
from benchmarks.worker import START, peak_above, per_call, sum_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.loops import Body, Tree

    Expression = Callable[..., list[Any]]

# Systems: what is called, with what. "by hand" takes and returns tensors, as do those of "tensors".
ARRAYS, TENSORS = "treadle-PYTORCH", "treadle-PYTORCH tensors"
# With option torch__compile at True; otherwise it is as it is by default.
COMPILED = "treadle-PYTORCH compiled"
BY_HAND, HAND_ARRAYS, HAND_COMPILED = "by hand", "by hand, arrays", "by hand, torch.compile"
STEP = 0.1
SEED = 20260101


@dataclass(frozen=True, slots=True)
class Case:
    """A function to measure.

    Attributes
    ----------
    title
        What the table calls it.
    values
        Makes the arguments.
    ours
        Takes treadle.tensor and variables; returns the outputs.
    by_hand
        Takes torch and tensors; returns the same.
    compiled
        Whether what is compiled at the first call is measured too: loops by hand would take minutes.
    trained
        How many of the first arguments are shared variables that a step of Adam changes; the only output is the cost.
    """

    title: str
    values: Callable[[np.random.Generator], list[Any]]
    ours: Expression
    by_hand: Expression
    compiled: bool = True
    trained: int = 0


class Torch(Library):
    """PyTorch: loops led by Python."""

    def __init__(self) -> None:
        import torch  # noqa: PLC0415 - each process imports one system

        self.torch = torch
        self.xp = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, {"dot": "matmul"}.get(name, name))

    def scan(self, body: Body, init: Tree, xs: Tree, length: int) -> tuple[Tree, Tree]:
        """Run the loop."""
        carry, rows = init, []
        for step in zip(*(x.unbind() for x in xs), strict=True) if xs else ((),) * length:
            carry, row = body(carry, step)
            rows.append(row)
        return carry, tuple(map(self.torch.stack, zip(*rows, strict=True)))

    def repeat(self, cond: Callable[[Tree], Any], body: Callable[[Tree], Tree], init: Tree, most: int) -> Tree:
        """Run the loop."""
        del most
        carry = (self.torch.tensor(init[0]), *init[1:])
        while bool(cond(carry)):
            carry = body(carry)
        return carry


def _logistic_step(tt: Any, w: Any, b: Any, x: Any, y: Any) -> list[Any]:
    score = x @ w + b
    loss = (tt.softplus(score) - y * score).mean() + 0.005 * (w**2).sum()
    return [loss, *(v - STEP * s for v, s in zip((w, b), tt.grad(loss, [w, b]), strict=True))]


def _logistic_by_hand(torch: Any, w: Any, b: Any, x: Any, y: Any) -> list[Any]:
    leaves = [v.detach().requires_grad_() for v in (w, b)]
    score = x @ leaves[0] + leaves[1]
    loss = (torch.nn.functional.softplus(score) - y * score).mean() + 0.005 * (leaves[0] ** 2).sum()
    slopes = torch.autograd.grad(loss, leaves)
    return [loss.detach(), *(v - STEP * s for v, s in zip((w, b), slopes, strict=True))]


def _perceptron_loss(xp: Any, weights: Any, h: Any, y: Any) -> Any:
    for w, b in zip(weights[:2], weights[3:5], strict=True):
        h = xp.tanh(h @ w + b)
    return -(y * xp.log_softmax(h @ weights[2] + weights[5], 1)).sum(1).mean()


def _perceptron_step(tt: Any, *values: Any) -> list[Any]:
    weights = list(values[:6])
    loss = _perceptron_loss(tt, weights, *values[6:])
    return [loss, *(v - STEP * s for v, s in zip(weights, tt.grad(loss, weights), strict=True))]


def _perceptron_by_hand(torch: Any, *values: Any) -> list[Any]:
    leaves = [v.detach().requires_grad_() for v in values[:6]]
    loss = _perceptron_loss(torch, leaves, *values[6:])
    slopes = torch.autograd.grad(loss, leaves)
    return [loss.detach(), *(v - STEP * s for v, s in zip(values[:6], slopes, strict=True))]


def _labelled(rng: np.random.Generator) -> list[Any]:
    return [np.zeros(100), np.zeros(()), rng.normal(size=(10_000, 100)), (rng.random(10_000) < 0.5).astype("float64")]


def _digits(rng: np.random.Generator) -> list[Any]:
    weights = [0.05 * rng.normal(size=s) for s in ((784, 256), (256, 128), (128, 10))]
    biases = [np.zeros(n) for n in (256, 128, 10)]
    return [*weights, *biases, rng.normal(size=(256, 784)), np.eye(10)[rng.integers(0, 10, size=256)]]


def _plus_one(_: Any, x: Any) -> list[Any]:
    return [x + 1]


def _total(_: Any, *xs: Any) -> list[Any]:
    return [sum(xs[1:], xs[0])]


def _softmax(xp: Any, x: Any) -> list[Any]:
    return [xp.softmax(x, 1)]


def _of_loop(name: str) -> Case:
    loop = LOOPS[name]

    def ours(tt: Any, *variables: Any) -> list[Any]:
        value = loop.expression(Treadle(), *variables)
        return [value, *(tt.grad(value, [variables[i] for i in loop.slopes]) if loop.slopes else ())]

    def by_hand(torch: Any, *values: Any) -> list[Any]:
        leaves = [v.detach().requires_grad_(i in loop.slopes) for i, v in enumerate(values)]
        value = loop.expression(Torch(), *leaves)
        slopes = torch.autograd.grad(value, [leaves[i] for i in loop.slopes]) if loop.slopes else ()
        return [value.detach(), *slopes]

    return Case(loop.title, loop.values, ours, by_hand, compiled=False)


class _Adam:
    """Steps of Adam by hand, in place."""

    def __init__(self, torch: Any, params: list[Any]) -> None:
        self.torch, self.params, self.count = torch, params, 0
        self.moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in params]

    def step(self, slopes: Any) -> None:
        """Change the parameters."""
        self.count += 1
        root = (1 - 0.999**self.count) ** 0.5
        with self.torch.no_grad():
            for p, g, (m, v) in zip(self.params, slopes, self.moments, strict=True):
                m.lerp_(g, 0.1)
                v.mul_(0.999).addcmul_(g, g, value=0.001)
                p.addcdiv_(m, (v.sqrt() / root).add_(1e-8), value=-1e-3 / (1 - 0.9**self.count))


def _layers(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[Any]:
    return [0.1 * rng.normal(size=s).astype("float32") for s in shapes]


def _examples(rng: np.random.Generator, shape: tuple[int, ...], count: int) -> list[Any]:
    return [rng.normal(size=shape).astype("float32"), rng.integers(0, 10, size=count)]


def _classifier(nn: Any, w: Any, b: Any, v: Any, c: Any, x: Any, y: Any) -> Any:
    return nn.cross_entropy(nn.relu(x @ w + b) @ v + c, y)


def _network(nn: Any, w: Any, b: Any, v: Any, c: Any, out: Any, x: Any, y: Any) -> Any:
    h = nn.max_pool2d(nn.relu(nn.conv2d(x, w, b, padding=1)), 2)
    h = nn.max_pool2d(nn.relu(nn.conv2d(h, v, c, padding=1)), 2)
    return nn.cross_entropy(h.reshape((h.shape[0], -1)) @ out, y)


def _attention(
    nn: Any, inner: Any, after: Any, g: Any, s: Any, wide: Any, b: Any, narrow: Any, c: Any, out: Any, x: Any, y: Any
) -> Any:
    heads = (x.shape[0], x.shape[1], 4, 16)
    mixed = nn.layer_norm(x, (64,), g, s) @ inner
    parts = [mixed[:, :, 64 * i : 64 * i + 64].reshape(heads).swapaxes(1, 2) for i in range(3)]
    h = x + nn.scaled_dot_product_attention(*parts).swapaxes(1, 2).reshape(x.shape) @ after
    h = h + nn.gelu(nn.layer_norm(h, (64,), g, s) @ wide + b) @ narrow + c
    return nn.cross_entropy(h.mean(1) @ out, y)


class _Functions:
    """What losses are written with, by the names that PyTorch has."""

    def __init__(self, tt: Any) -> None:
        self.tt = tt

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tt.nn, name, None) or getattr(self.tt, name)

    def layer_norm(self, x: Any, _: Any, weight: Any, bias: Any) -> Any:
        return self.tt.nn.layer_norm(x, weight, bias)


def _trained(title: str, values: Callable[[np.random.Generator], list[Any]], loss: Expression, count: int) -> Case:
    """Return a step of Adam for a loss written once for both libraries."""

    def by_hand(torch: Any, *given: Any) -> list[Any]:
        return [loss(torch.nn.functional, *given)]

    return Case(title, values, lambda tt, *given: [loss(_Functions(tt), *given)], by_hand, trained=count)


_WIDTHS = ((64, 192), (64, 64), (64,), (64,), (64, 256), (256,), (256, 64), (64,), (64, 10))
TRAINING = {
    "classifier": _trained(
        "Adam step of an MLP, batch 256, 784-256-10, float32",
        lambda rng: [*_layers(rng, (784, 256), (256,), (256, 10), (10,)), *_examples(rng, (256, 784), 256)],
        _classifier, 4,
    ),
    "convnet": _trained(
        "Adam step of a convolutional net, batch 32 of 28 x 28, float32",
        lambda rng: [
            *_layers(rng, (8, 1, 3, 3), (8,), (16, 8, 3, 3), (16,), (784, 10)), *_examples(rng, (32, 1, 28, 28), 32)
        ],
        _network, 5,
    ),
    "transformer": _trained(
        "Adam step of a transformer block, batch 8 x 32 x 64, float32",
        lambda rng: [*_layers(rng, *_WIDTHS), *_examples(rng, (8, 32, 64), 8)],
        _attention, 9,
    ),
}  # fmt: skip
CASES = {
    "ten": Case("x + 1, 10 elements", lambda rng: [rng.normal(size=10)], _plus_one, _plus_one),
    "vectors": Case("sum of 10 vectors of 10", lambda rng: [*rng.normal(size=(10, 10))], _total, _total),
    "softmax": Case("softmax over rows, 64 x 64", lambda rng: [rng.normal(size=(64, 64))], _softmax, _softmax),
    "logistic": Case("logistic regression step, 10,000 x 100", _labelled, _logistic_step, _logistic_by_hand),
    "perceptron": Case("MLP step, batch 256, 784-256-128-10", _digits, _perceptron_step, _perceptron_by_hand),
    **TRAINING,
    **{name: _of_loop(name) for name in ("rnn", "garch", "ar2", "mandelbrot")},
}


def columns() -> list[str]:
    """Return what can be measured here."""
    installed = importlib.util.find_spec("torch") is not None
    return [ARRAYS, TENSORS, COMPILED, BY_HAND, HAND_ARRAYS, HAND_COMPILED] if installed else []


def measure(name: str, system: str) -> dict[str, Any]:
    """Return the seconds of a call, those until the first result was there, the memory's peak, a sum of the results."""
    case = CASES[name]
    values = case.values(np.random.default_rng(SEED))
    import torch  # noqa: PLC0415 - the import is part of what is measured

    torch.set_num_threads(1)
    given = values if system in {ARRAYS, HAND_ARRAYS} else [torch.from_numpy(x) for x in values]
    run = _treadle(case, system, values) if system in {ARRAYS, TENSORS, COMPILED} else _by_hand(case, system)
    result = run(*given)
    answer = {"first": time.perf_counter() - START, "check": sum_of(result)}
    return {**answer, "seconds": per_call(run, given), "peak_mib": max(peak_above(run, given), 0.0)}


def _treadle(case: Case, system: str, values: list[Any]) -> Callable[..., Any]:
    import treadle.tensor as tt  # noqa: PLC0415 - as above
    from treadle.compile import function, get_mode  # noqa: PLC0415 - as above
    from treadle.config import config  # noqa: PLC0415 - as above

    config.torch__compile = True if system == COMPILED else "auto"
    mode = get_mode("PYTORCH")
    if system != ARRAYS:
        mode = mode.clone(link_kwargs={"device_outputs": True})
    inputs = [tt.tensor(f"x{i}", dtype=x.dtype.name, shape=(None,) * x.ndim) for i, x in enumerate(values)]
    if case.trained:
        shared = [tt.shared(x) for x in values[: case.trained]]
        (loss,) = case.ours(tt, *shared, *inputs[case.trained :])
        step = function(inputs[case.trained :], loss, updates=tt.nn.adam(loss, shared), mode=mode)
        return lambda *given: [step(*given[case.trained :])]
    compiled: Callable[..., Any] = function(inputs, case.ours(tt, *inputs), mode=mode)
    return compiled


def _by_hand(case: Case, system: str) -> Callable[..., Any]:
    import torch  # noqa: PLC0415 - as above

    leaves: list[Any] = []
    adam: list[_Adam] = []

    def trained(*tensors: Any) -> list[Any]:
        if not adam:
            leaves.extend(x.clone().requires_grad_() for x in tensors[: case.trained])
            adam.append(_Adam(torch, leaves))
        (loss,) = case.by_hand(torch, *leaves, *tensors[case.trained :])
        adam[0].step(torch.autograd.grad(loss, leaves))
        return [loss.detach()]

    def run(*tensors: Any) -> list[Any]:
        return trained(*tensors) if case.trained else case.by_hand(torch, *tensors)

    if system == HAND_COMPILED:
        compiled: Callable[..., Any] = torch.compile(run)
        return compiled
    if system == HAND_ARRAYS:
        return lambda *arrays: [x.numpy() for x in run(*map(torch.from_numpy, arrays))]
    return run
