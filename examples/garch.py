"""GARCH(1, 1) on real daily returns: parameters by maximum likelihood, with standard errors from the Hessian.

The data are the daily prices of Google's share from 2004 to 2008, which matplotlib ships. The variance of a day's
return is a constant, plus a share of the last squared return, plus a share of the last variance (Bollerslev,
Generalized autoregressive conditional heteroskedasticity, 1986). A loop goes through the days; ``tt.grad`` and
``tt.hessian`` go through the loop. The Hessian at the maximum gives the standard errors; as a check it is computed from
differences of gradients too.

Run it with ``./dev run python examples/garch.py``. It prints what was found, and saves ``garch.png`` beside itself.
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

import treadle.tensor as tt
from treadle.compile import function

mpl.use("Agg")
import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor import TensorVariable

    Array = np.ndarray

PICTURE = Path(__file__).with_suffix(".png")
NAMES = ("constant", "last return", "last variance", "mean")
# Logarithms of the constant, and of the two shares over what is left of one; the mean in percent.
FIRST_GUESS = np.array([-1.0, -1.0, 2.0, 0.1])
TOLERANCE = 1e-4


def load() -> tuple[Array, Array]:
    """Return days, and the returns of closing prices in percent."""
    loaded: Any = get_sample_data("goog.npz")
    prices = loaded["price_data"].view(np.recarray)
    return prices.date[1:], 100 * np.diff(np.log(prices.close))


def parameters_of(theta: TensorVariable) -> TensorVariable:
    """Return the constant, the two shares, of which the sum is less than 1, and the mean."""
    shares = tt.exp(theta[1:3])
    return tt.concatenate([tt.exp(theta[:1]), shares / (1 + shares.sum()), theta[3:]])


def filtered(theta: TensorVariable, returns: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Return the log likelihood of returns, and the variance of each."""
    constant, by_return, by_variance, mean = (parameters_of(theta)[i] for i in range(4))
    errors = returns - mean

    def day(variance: TensorVariable, error: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
        return constant + by_return * error**2 + by_variance * variance, variance

    start = constant / (1 - by_return - by_variance)
    _, variances = tt.scan_with_carry(day, start, errors, name="days")
    return -0.5 * (tt.log(2 * np.pi * variances) + errors**2 / variances).sum(), variances


def build() -> tuple[Callable[..., list[Array]], Callable[..., Array], Callable[..., list[Array]]]:
    """Return three functions: cost with gradient, its Hessian, and parameters with their slopes and the variances."""
    theta, returns = tt.dvector("theta"), tt.dvector("returns")
    likelihood, variances = filtered(theta, returns)
    cost, found = -likelihood, parameters_of(theta)
    return (
        function([theta, returns], [cost, tt.grad(cost, theta)], name="cost"),
        function([theta, returns], tt.hessian(cost, theta), name="Hessian"),
        function([theta, returns], [found, tt.jacobian(found, theta), variances], name="parameters"),
    )


def by_differences(cost: Callable[..., list[Array]], theta: Array, returns: Array, step: float = 1e-5) -> Array:
    """Return the Hessian by central differences of the gradient."""
    ways = step * np.eye(theta.size)
    return np.array([(cost(theta + way, returns)[1] - cost(theta - way, returns)[1]) / (2 * step) for way in ways])


def draw(days: Array, returns: Array, variances: Array, path: Path) -> None:
    """Save the returns and twice their deviation."""
    figure, axis = plt.subplots(figsize=(10, 4.5), layout="constrained")
    axis.plot(days, returns, color="gray", linewidth=0.7, label="returns")
    for sign in (-2, 2):
        axis.plot(days, sign * np.sqrt(variances), color="tab:red", label="2 deviations" if sign > 0 else None)
    axis.set(ylabel="percent a day", title="Returns of Google's share, and their deviation by GARCH(1, 1)")
    axis.legend(fontsize="small")
    figure.savefig(path, dpi=90)


def main() -> int:
    """Fit, check and draw; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=PICTURE, help="where to save the picture")
    given = parser.parse_args()
    days, returns = load()
    cost, hessian, parameters = build()
    fit = minimize(cost, FIRST_GUESS, args=(returns,), jac=True, method="BFGS")
    curvature = hessian(fit.x, returns)
    values, slopes, variances = parameters(fit.x, returns)
    # Errors of functions of theta, by their slopes.
    deviations = np.sqrt(np.diag(slopes @ np.linalg.inv(curvature) @ slopes.T))
    print(f"log likelihood {-fit.fun:.6f} of {returns.size} days, after {fit.nfev} evaluations")
    for name, value, deviation in zip(NAMES, values, deviations, strict=True):
        print(f"{name:14} {value:8.4f} +- {deviation:.4f}")
    apart = np.abs(curvature - by_differences(cost, fit.x, returns)).max() / np.abs(curvature).max()
    print(f"Hessian against differences of gradients: {apart:.1e}")
    draw(days, returns, variances, given.output)
    print(f"saved {given.output.name}")
    return 0 if apart < TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
