"""A Kalman filter on real data: how volatile a share was, from two noisy measures of it, with its uncertainty.

The data are the daily prices of Google's share from 2004 to 2008, which matplotlib ships. Over ten trading days the
logarithms of the range of prices and of the absolute return both measure the logarithm of the volatility; if prices are
a Brownian motion, with errors of known mean and of deviations 0.29 and 1.11 (Alizadeh, Brandt and Diebold, Range-based
estimation of stochastic volatility models, 2002). Here the volatility is a level that moves slowly plus a part that
returns to zero, and four parameters maximise the likelihood: how far both parts move in a period, how much of the
second one stays, and by how much the errors differ from what theory says. The recursion is written out, step after
step, and ``tt.grad`` goes back through all of them. The likelihood is also that of one normal vector with all
observations, which SciPy computes at the same place.

Run it with ``./dev run python examples/kalman_filter.py``. It prints what was found, and saves ``kalman_filter.png``
beside itself.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.cbook import get_sample_data
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import treadle.tensor as tt
from treadle.compile import function

mpl.use("Agg")
import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor import TensorVariable

    Array = np.ndarray

PICTURE = Path(__file__).with_suffix(".png")
DAYS = 10
NAMES = ("level", "second part", "errors", "memory")
FIRST_GUESS = np.array([-2.0, -1.5, 0.0, 1.0])
# Both measures are of the sum of both parts of the state.
MEASURED = np.ones((2, 2))
# Means and variances of the errors, by Alizadeh, Brandt and Diebold.
MEANS, VARIANCES = np.array([0.43, -0.635]), np.array([0.29, 1.11]) ** 2
# The state before the first observation.
START, SPREAD = np.array([np.log(0.05), 0.0]), np.diag([1.0, 0.25])
TOLERANCE = 1e-8


def load() -> tuple[Array, Array]:
    """Return the first day of each period, and both measures, shape (periods, 2)."""
    loaded: Any = get_sample_data("goog.npz")
    prices = loaded["price_data"].view(np.recarray)
    count = (len(prices) - 1) // DAYS
    days = slice(1, 1 + count * DAYS)
    high, low = prices.high[days].reshape(count, DAYS), prices.low[days].reshape(count, DAYS)
    closes = prices.close[: 1 + count * DAYS : DAYS]
    spread = np.log(high.max(axis=1) / low.min(axis=1))
    moved = np.maximum(np.abs(np.diff(np.log(closes))), 1e-3)
    return prices.date[days].reshape(count, DAYS)[:, 0], np.log(np.stack([spread, moved], axis=1)) - MEANS


def filtered(y: TensorVariable, theta: TensorVariable, steps: int) -> tuple[TensorVariable, ...]:
    """Return the log likelihood of observations, and the mean and deviation of the volatility after each of them."""
    moves, errors = tt.diag(tt.exp(2 * theta[:2])), tt.exp(2 * theta[2]) * np.diag(VARIANCES)
    memory = tt.stack([1.0, tt.sigmoid(theta[3])])
    mean, cov = tt.as_tensor(START), tt.as_tensor(SPREAD)
    terms, means, variances = [], [], []
    for t in range(steps):
        factor = tt.linalg.cholesky(MEASURED @ cov @ MEASURED.T + errors)
        # The Kalman gain times an innovation is whitened_cov.T @ whitened.
        whitened = tt.linalg.solve_triangular(factor, y[t] - MEASURED @ mean, lower=True)
        whitened_cov = tt.linalg.solve_triangular(factor, MEASURED @ cov, lower=True)
        terms.append(-(whitened @ whitened) / 2 - tt.log(tt.diagonal(factor)).sum() - np.log(2 * np.pi))
        mean, cov = mean + whitened_cov.T @ whitened, cov - whitened_cov.T @ whitened_cov
        means.append(mean.sum())
        variances.append(cov.sum())
        mean, cov = memory * mean, memory[:, None] * cov * memory + moves
    return tt.stack(terms).sum(), tt.stack(means), tt.sqrt(tt.stack(variances))


def build(steps: int) -> tuple[Callable[..., list[Array]], Callable[..., list[Array]]]:
    """Return two functions: the log likelihood with its gradient, and the mean and deviation of the volatility."""
    y, theta = tt.tensor("y", dtype="float64", shape=(steps, 2)), tt.tensor("theta", dtype="float64", shape=(4,))
    likelihood, mean, deviation = filtered(y, theta, steps)
    return (
        function([theta, y], [likelihood, tt.grad(likelihood, theta)], name="log likelihood"),
        function([theta, y], [mean, deviation], name="volatility"),
    )


def fit(likelihood: Callable[..., list[Array]], y: Array) -> tuple[Array, int]:
    """Return the parameters that maximise the likelihood, and the number of evaluations."""

    def cost(theta: Array) -> tuple[float, Array]:
        value, slope = likelihood(theta, y)
        return -float(value), -slope

    found = minimize(cost, FIRST_GUESS, jac=True, method="L-BFGS-B", bounds=[(-6, 3)] * 3 + [(-5, 5)])
    return found.x, found.nfev


def theirs(theta: Array, y: Array) -> float:
    """Return SciPy's log density of all observations as one normal vector."""
    steps = len(y)
    walk, move, scale = np.exp(2 * theta[:3])
    memory = 1 / (1 + np.exp(-theta[3]))
    t = np.arange(steps)
    first, apart = np.minimum.outer(t, t), np.abs(np.subtract.outer(t, t))
    # Of the second part: what is left of the start, and of all moves since.
    left = memory ** (2.0 * first)
    covariance = (
        SPREAD[0, 0] + walk * first + memory**apart * (SPREAD[1, 1] * left + move * (1 - left) / (1 - memory**2))
    )
    whole = np.kron(covariance, np.ones((2, 2))) + np.kron(np.eye(steps), np.diag(scale * VARIANCES))
    return float(multivariate_normal(np.full(2 * steps, START.sum()), whole).logpdf(y.ravel()))


def draw(dates: Array, y: Array, mean: Array, deviation: Array, path: Path) -> None:
    """Save the volatility and its band over both measures."""
    figure, axis = plt.subplots(figsize=(10, 4.5), layout="constrained")
    percent = [100 * np.exp(x) for x in (y[:, 0], y[:, 1], mean, mean - 2 * deviation, mean + 2 * deviation)]
    axis.fill_between(dates, percent[3], percent[4], alpha=0.3, label="2 deviations")
    axis.plot(dates, percent[2], label="volatility")
    axis.plot(dates, percent[0], ".", color="black", markersize=4, label="from ranges")
    axis.plot(dates, percent[1], "x", color="gray", markersize=4, label="from returns")
    axis.set(yscale="log", ylim=(0.5, 40), ylabel=f"percent in {DAYS} days", title="Volatility of Google's share")
    axis.legend(fontsize="small", ncols=4)
    figure.savefig(path, dpi=90)


def main() -> int:
    """Fit, compare and draw; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=PICTURE, help="where to save the picture")
    given = parser.parse_args()
    dates, y = load()
    likelihood, volatility = build(len(y))
    theta, count = fit(likelihood, y)
    for name, value in zip(NAMES, [*np.exp(theta[:3]), 1 / (1 + np.exp(-theta[3]))], strict=True):
        print(f"{name:16} {value:8.4f}")
    value = likelihood(theta, y)[0]
    print(f"log likelihood {value:.10f} after {count} evaluations\nSciPy's        {theirs(theta, y):.10f}")
    mean, deviation = volatility(theta, y)
    draw(dates, y, mean, deviation, given.output)
    print(f"picture: {given.output}")
    # The slope along one direction, by central differences of SciPy's density.
    along, step = np.array([0.5, -0.3, 0.4, 0.6]), 1e-5
    difference = (theirs(FIRST_GUESS + step * along, y) - theirs(FIRST_GUESS - step * along, y)) / (2 * step)
    error = abs(float(value) - theirs(theta, y))
    slope_error = abs(likelihood(FIRST_GUESS, y)[1] @ along - difference) / abs(difference)
    print(f"difference of the values {error:.1e}, relative difference of slopes {slope_error:.1e}")
    return 0 if error < TOLERANCE and slope_error < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
