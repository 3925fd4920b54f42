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
    """

    title: str
    values: Callable[[np.random.Generator], list[Any]]
    ours: Expression
    by_hand: Expression
    compiled: bool = True


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


CASES = {
    "ten": Case("x + 1, 10 elements", lambda rng: [rng.normal(size=10)], _plus_one, _plus_one),
    "vectors": Case("sum of 10 vectors of 10", lambda rng: [*rng.normal(size=(10, 10))], _total, _total),
    "softmax": Case("softmax over rows, 64 x 64", lambda rng: [rng.normal(size=(64, 64))], _softmax, _softmax),
    "logistic": Case("logistic regression step, 10,000 x 100", _labelled, _logistic_step, _logistic_by_hand),
    "perceptron": Case("MLP step, batch 256, 784-256-128-10", _digits, _perceptron_step, _perceptron_by_hand),
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
    compiled: Callable[..., Any] = function(inputs, case.ours(tt, *inputs), mode=mode)
    return compiled


def _by_hand(case: Case, system: str) -> Callable[..., Any]:
    import torch  # noqa: PLC0415 - as above

    def run(*tensors: Any) -> list[Any]:
        return case.by_hand(torch, *tensors)

    if system == HAND_COMPILED:
        compiled: Callable[..., Any] = torch.compile(run)
        return compiled
    if system == HAND_ARRAYS:
        return lambda *arrays: [x.numpy() for x in run(*map(torch.from_numpy, arrays))]
    return run
