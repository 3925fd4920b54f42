"""A posterior by a vectorised random-walk sampler: how volatile Google's share was, and how heavy the tails are.

The data are the daily prices of Google's share from 2004 to 2008, which matplotlib ships. Their returns are Student's t
with an unknown scale and unknown degrees of freedom. Two hundred chains walk at once (Metropolis, Rosenbluth,
Rosenbluth, Teller and Teller, 1953): each step is one graph, with its random numbers, its decisions and the states that
it updates. The generator is portable, so every backend draws the same numbers and finds the same posterior; what it
finds is compared with the posterior on a fine grid.

Run it with ``./dev run python examples/monte_carlo.py``. It prints a table with a row for each installed backend, and
saves ``monte_carlo.png`` beside itself.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.cbook import get_sample_data
from scipy.special import gammaln
from scipy.stats import t as student

import treadle.tensor as tt
from treadle.compile import function
from treadle.tensor.random import PortableGenerator, normal, shared_rng, uniform
from treadle.testing import backend_names, find_backend

mpl.use("Agg")
import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor import TensorVariable

    Array = np.ndarray

PICTURE = Path(__file__).with_suffix(".png")
BACKENDS = ("vm", "c", "numba", "jax", "pytorch")
CHAINS, SEED = 200, 7
WARM_UP = 100
# Of a proposal, by the logarithms of scale and degrees of freedom; near the posterior's own deviations.
REACH = np.array([0.05, 0.2])
START = np.log([1.5, 5.0])
NAMES = ("scale", "degrees of freedom")


class Posterior(NamedTuple):
    """What a backend found: kept states, shape (steps, chains, 2); share of moves; seconds to compile and to run."""

    states: Array
    accepted: float
    compiling: float
    running: float


def load() -> Array:
    """Return the daily returns in percent."""
    loaded: Any = get_sample_data("goog.npz")
    closes = loaded["price_data"].view(np.recarray).close
    returns: Array = 100 * np.diff(np.log(closes))
    return returns


def log_posterior(theta: TensorVariable, returns: Array) -> TensorVariable:
    """Return the log density for each chain, flat in the logarithms, for `theta` of shape (chains, 2)."""
    log_scale, nu = theta[:, :1], tt.exp(theta[:, 1:])
    z = tt.as_tensor(returns) / tt.exp(log_scale)
    kernel = -(nu + 1) / 2 * tt.log1p(z**2 / nu)
    constant = tt.gammaln((nu + 1) / 2) - tt.gammaln(nu / 2) - tt.log(nu * np.pi) / 2 - log_scale
    return (kernel + constant).sum(axis=1)


def build(returns: Array, mode: str) -> Callable[[], list[Array]]:
    """Return a function that takes one step of all chains: their states, and which of them moved."""
    theta = tt.shared(np.tile(START, (CHAINS, 1)), name="theta")
    density = tt.shared(np.full(CHAINS, -np.inf), name="density")
    rng = shared_rng(PortableGenerator(SEED), name="rng")
    after, step = normal(0.0, REACH, size=(CHAINS, 2), rng=rng, return_next_rng=True)
    last, u = uniform(size=(CHAINS,), rng=after, return_next_rng=True)
    proposed = theta + step
    reached = log_posterior(proposed, returns)
    moves = tt.log(u) < reached - density
    new = tt.where(moves[:, None], proposed, theta)
    updates = {theta: new, density: tt.where(moves, reached, density), rng: last}
    made: Callable[[], list[Array]] = function([], [new, moves.mean()], updates=updates, mode=mode)
    return made


def sample(returns: Array, mode: str, steps: int) -> Posterior:
    """Return the posterior that a backend finds."""
    began = perf_counter()
    step = build(returns, mode)
    first, share = step()
    compiled = perf_counter()
    states, shares = [first], [float(share)]
    for _ in range(WARM_UP + steps - 1):
        theta, share = step()
        states.append(theta)
        shares.append(float(share))
    return Posterior(
        np.stack(states[WARM_UP:]), float(np.mean(shares[WARM_UP:])), compiled - began, perf_counter() - compiled
    )


def on_grid(returns: Array) -> tuple[Array, Array, Array]:
    """Return the posterior on a grid: both axes (logarithms), and its density there, shape (scales, degrees)."""
    scales, degrees = np.linspace(np.log(1.1), np.log(1.9), 161), np.linspace(np.log(2.2), np.log(9.0), 161)
    nu = np.exp(degrees)
    z = np.square(returns) / np.exp(2 * scales)[:, None]
    kernel = np.stack([-(n + 1) / 2 * np.log1p(z / n).sum(axis=1) for n in nu], axis=1)
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - np.log(nu * np.pi) / 2 - scales[:, None]
    values = kernel + len(returns) * constant
    density = np.exp(values - values.max())
    return scales, degrees, density / density.sum()


def expected(scales: Array, degrees: Array, density: Array) -> Array:
    """Return the posterior means of scale and degrees of freedom, by the grid."""
    return np.array([np.exp(scales) @ density.sum(axis=1), np.exp(degrees) @ density.sum(axis=0)])


def standard_errors(states: Array) -> Array:
    """Return the standard errors of the means, by how the means of the chains, which are independent, differ."""
    errors: Array = np.exp(states).mean(axis=0).std(axis=0, ddof=1) / np.sqrt(states.shape[1])
    return errors


def draw(returns: Array, states: Array, grid: tuple[Array, Array, Array], path: Path) -> None:
    """Save the sampled posterior over the grid's, and the returns with the density at the posterior means."""
    scales, degrees, density = grid
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    flat = np.exp(states[::20].reshape(-1, 2))
    left.plot(*flat.T, ".", markersize=1, alpha=0.4)
    left.contour(np.exp(scales), np.exp(degrees), density.T, levels=6, colors="black", linewidths=0.8)
    left.set(xlabel="scale, percent a day", ylabel="degrees of freedom", title="Draws, and the posterior on a grid")
    left.set(xlim=(1.3, 1.75), ylim=(2.2, 5.2))
    scale, nu = np.exp(states).mean(axis=(0, 1))
    x = np.linspace(-10, 10, 400)
    right.hist(returns, bins=120, range=(-10, 10), density=True, alpha=0.5, label="returns")
    right.plot(x, student(nu, 0, scale).pdf(x), label=f"t, {nu:.2f} degrees of freedom")
    right.set(xlabel="percent a day", title="Google's share, 2004 to 2008")
    right.legend(fontsize="small")
    figure.savefig(path, dpi=90)


def installed() -> list[str]:
    """Return the backends that work here."""
    return [name for name in BACKENDS if name in backend_names() and find_backend(name).unavailable() is None]


def main() -> int:
    """Sample on every backend, compare and draw; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=PICTURE, help="where to save the picture")
    parser.add_argument("--steps", type=int, default=1000, help="steps of each chain after the first hundred")
    given = parser.parse_args()
    returns = load()
    found = {name: sample(returns, name.upper(), given.steps) for name in installed()}
    grid = on_grid(returns)
    wanted = expected(*grid)
    print(f"{'':8}  {NAMES[0]:>16}  {NAMES[1]:>18}  {'moved':>6}  {'compile, s':>10}  {'run, s':>6}")
    for name, posterior in found.items():
        scale, nu = np.exp(posterior.states).mean(axis=(0, 1))
        print(
            f"{name:8}  {scale:16.13f}  {nu:18.13f}  {posterior.accepted:6.3f}  {posterior.compiling:10.2f}"
            f"  {posterior.running:6.2f}"
        )
    print(f"{'grid':8}  {wanted[0]:16.13f}  {wanted[1]:18.13f}")
    first = next(iter(found.values())).states
    apart = max(float(np.abs(other.states / first - 1).max()) for other in found.values())
    off = np.abs(np.exp(first).mean(axis=(0, 1)) - wanted) / standard_errors(first)
    draw(returns, first, grid, given.output)
    print(f"picture: {given.output}")
    print(f"largest relative difference of backends {apart:.1e}; from the grid by {off.max():.1f} standard errors")
    return 0 if apart < 1e-12 and off.max() < 4 else 1


if __name__ == "__main__":
    sys.exit(main())
