"""Training and sampling on several processes: gradients of parts of the data, and chains, by ``f.map``.

A curve with heavy-tailed noise, 30,000 simulated points. A network learns the curve by Adam, with the gradient of the
whole data at each step: each task computes it on a part of the rows, and the sums are the same whoever does the tasks.
Then chains of a random-walk sampler (Metropolis, Rosenbluth, Rosenbluth, Teller and Teller, 1953) find the posterior of
the noise: how wide it is, and how heavy its tails are. Each chain is one call, which draws from a stream of its own.
Both run in this process and on worker processes, which find the same numbers; what that gains is printed.

Run it with ``./dev run python examples/scale_out.py``; ``--client dask`` or ``joblib`` takes these in place of a pool
of ``concurrent.futures``. It saves ``scale_out.png`` beside itself.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

# One thread of BLAS in each process, this one included: read when NumPy is imported, here and in the workers.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import matplotlib as mpl
import numpy as np

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor.random import PortableGenerator, RandomStream

mpl.use("Agg")
import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.compile import Function

    Array = np.ndarray

PICTURE = Path(__file__).with_suffix(".png")
ROWS, HIDDEN, SEED = 30_000, 64, 3
WIDTH, DEGREES = 0.2, 4.0  # of the noise
PARTS, STEP = 8, 0.02
CHAINS, RESIDUALS, WARM_UP = 8, 2000, 200
REACH = np.array([0.03, 0.15])  # of a proposal, by the logarithms of width and degrees of freedom


class Fit(NamedTuple):
    """What training found: the parameters, the loss at each step, and the seconds that it took."""

    params: list[Array]
    losses: list[float]
    seconds: float


def curve(x: Array) -> Array:
    """Return what the network is to learn."""
    values: Array = np.sin(3 * x) + 0.5 * np.cos(7 * x)
    return values


def simulate() -> tuple[Array, Array]:
    """Return the points."""
    rng = np.random.default_rng(SEED)
    x = rng.uniform(-2, 2, size=ROWS)
    return x, curve(x) + WIDTH * rng.standard_t(DEGREES, size=ROWS)


def first_params() -> list[Array]:
    """Return weights and biases to begin with."""
    rng = np.random.default_rng(SEED)
    return [
        rng.normal(size=(1, HIDDEN)) * 3, rng.normal(size=HIDDEN) * 2, rng.normal(size=(HIDDEN, HIDDEN)) / 8,
        np.zeros(HIDDEN), rng.normal(size=(HIDDEN, 1)) / 8, np.zeros(1),
    ]  # fmt: skip


def build_gradient(x: Array, y: Array) -> tuple[Function, list[Any], Function]:
    """Return the loss of some rows and its gradient, the parameters, and the network itself.

    The data are constants, which workers keep with the function. Parameters are shared variables: workers get their
    values when they have changed.
    """
    params = [tt.shared(value, name=f"p{k}") for k, value in enumerate(first_params())]
    w1, b1, w2, b2, w3, b3 = params

    def network(points: Any) -> Any:
        hidden = tt.tanh(tt.tanh(points[:, None] @ w1 + b1) @ w2 + b2)
        return (hidden @ w3 + b3)[:, 0]

    first, last = tt.lscalars("first", "last")
    loss = tt.log1p(((network(tt.as_tensor(x)[first:last]) - tt.as_tensor(y)[first:last]) / WIDTH) ** 2 / DEGREES).sum()
    points = tt.dvector("points")
    return function([first, last], [loss, *tt.grad(loss, params)]), params, function([points], network(points))


def train(gradient: Function, params: list[Any], steps: int, client: object) -> Fit:
    """Return what Adam finds (Kingma and Ba, 2015), with gradients by the workers of a client."""
    bounds = np.linspace(0, ROWS, PARTS + 1).astype(int)
    tasks = list(pairwise(bounds))
    values = first_params()
    first, second = [np.zeros_like(v) for v in values], [np.zeros_like(v) for v in values]
    losses = []
    began = perf_counter()
    for step in range(1, steps + 1):
        for param, value in zip(params, values, strict=True):
            param.set_value(value)
        parts = gradient.map(tasks, client=client)
        losses.append(float(sum(part[0] for part in parts)) / ROWS)
        for k, value in enumerate(values):
            slope = np.sum([part[k + 1] for part in parts], axis=0) / ROWS
            first[k] = 0.9 * first[k] + 0.1 * slope
            second[k] = 0.999 * second[k] + 0.001 * slope**2
            scale = np.sqrt(second[k] / (1 - 0.999**step)) + 1e-8
            values[k] = value - STEP * first[k] / (1 - 0.9**step) / scale
    return Fit(values, losses, perf_counter() - began)


def build_chain(residuals: Array, steps: int) -> tuple[Function, RandomStream]:
    """Return a function of a first state that gives a whole chain of states, and the stream that it draws from."""
    stream = RandomStream(SEED, rng_ctor=PortableGenerator)
    noise = tt.as_tensor(residuals)

    def density(state: Any) -> Any:
        nu = tt.exp(state[1])
        kernel = -(nu + 1) / 2 * tt.log1p((noise / tt.exp(state[0])) ** 2 / nu)
        return kernel.sum() + len(residuals) * (
            tt.gammaln((nu + 1) / 2) - tt.gammaln(nu / 2) - tt.log(nu * np.pi) / 2 - state[0]
        )

    def move(state: Any, reached: Any) -> tuple[Any, Any]:
        proposed = state + stream.normal(0.0, REACH)
        new = density(proposed)
        moves = tt.log(stream.uniform()) < new - reached
        return tt.where(moves, proposed, state), tt.where(moves, new, reached)

    start = tt.dvector("start")
    (states, _), updates = tt.scan(move, outputs_info=[start, density(start)], n_steps=steps)
    return function([start], states[WARM_UP:], updates=updates), stream


def sample(chain: Function, stream: RandomStream, client: object) -> tuple[Array, float]:
    """Return the states of all chains, and the seconds that they took."""
    stream.seed(SEED)
    starts = np.log([[WIDTH, DEGREES]]) + np.random.default_rng(SEED).normal(0, 0.1, size=(CHAINS, 2))
    began = perf_counter()
    chains = chain.map(starts, client=client, chunk_size=1)
    return np.stack(chains), perf_counter() - began


@contextmanager
def workers(name: str, count: int) -> Iterator[Any]:
    """Start worker processes."""
    if name == "dask":
        distributed = import_module("distributed")
        options = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            yield client
    elif name == "joblib":
        with import_module("joblib").Parallel(n_jobs=count) as client:
            yield client
    else:
        with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as client:
            yield client


def draw(data: tuple[Array, Array], network: Function, fit: Fit, chains: Array, path: Path) -> None:
    """Save the curve that was learned, how the loss fell, and the posterior by chains."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    x, y = data
    line = np.linspace(-2, 2, 400)
    left.plot(x[::30], y[::30], ".", markersize=1.5, alpha=0.4)
    left.plot(line, curve(line), color="black", linewidth=1, label="true")
    left.plot(line, network(line), label="learned")
    left.set(ylim=(-3, 3), title=f"{ROWS} points, gradients by parts")
    left.legend(fontsize="small")
    middle.semilogx(np.arange(1, len(fit.losses) + 1), fit.losses)
    middle.set(xlabel="step", title="Loss")
    for chain in np.exp(chains):
        right.plot(*chain[::50].T, ".", markersize=1.5, alpha=0.4)
    right.plot(WIDTH, DEGREES, "+", color="black", markersize=14)
    right.set(xlabel="width", ylabel="degrees of freedom", title=f"Noise: {len(chains)} chains, a stream each")
    figure.savefig(path, dpi=90)


def main() -> int:
    """Train and sample in one process and in several, compare and draw; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=PICTURE, help="where to save the picture")
    parser.add_argument("--client", choices=("futures", "dask", "joblib"), default="futures", help="who runs tasks")
    parser.add_argument("--workers", type=int, default=2, help="number of worker processes")
    parser.add_argument("--steps", type=int, default=100, help="steps of training")
    parser.add_argument("--draws", type=int, default=40_000, help="draws of each chain, after the first 200")
    given = parser.parse_args()
    data = simulate()
    gradient, params, network = build_gradient(*data)
    with workers(given.client, given.workers) as client:
        began = perf_counter()
        gradient.map([(0, 1)] * given.workers, client=client, chunk_size=1)
        print(f"workers have the function after {perf_counter() - began:.1f} s")
        here, there = train(gradient, params, given.steps, None), train(gradient, params, given.steps, client)
        residuals = (data[1] - network(data[0]))[:RESIDUALS]
        chain, stream = build_chain(residuals, WARM_UP + given.draws)
        chain.map([np.log([WIDTH, DEGREES])] * given.workers, client=client, chunk_size=1)
        (states, alone), (others, together) = sample(chain, stream, None), sample(chain, stream, client)
    title = f"{given.workers} {given.client}"
    print(f"{'':10}  {'one process':>12}  {title:>12}  {'gain':>5}")
    for name, one, several in (("train", here.seconds, there.seconds), ("sample", alone, together)):
        print(f"{name:10}  {one:10.2f} s  {several:10.2f} s  {one / several:5.2f}")
    width, nu = np.exp(states).mean(axis=(0, 1))
    print(f"loss {here.losses[0]:.3f} to {here.losses[-1]:.3f}; noise: width {width:.3f}, {nu:.2f} degrees of freedom")
    draw(data, network, here, states, given.output)
    print(f"picture: {given.output}")
    apart = max(float(np.abs(a - b).max()) for a, b in zip(here.params, there.params, strict=True))
    apart = max(apart, float(np.abs(states - others).max()))
    print(f"largest difference between one process and several: {apart:.1e}")
    return 0 if apart < 1e-9 and here.losses[-1] < 0.7 * here.losses[0] else 1


if __name__ == "__main__":
    sys.exit(main())
