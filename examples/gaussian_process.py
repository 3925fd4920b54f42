"""Gaussian process regression on real data: how a disease progresses, by three measurements, with its uncertainty.

The data are those of 442 diabetes patients (Efron, Hastie, Johnstone and Tibshirani 2004; scikit-learn ships them):
body mass index, blood pressure and a blood value, and how far the disease had progressed a year later. The prior is a
process with a squared exponential kernel, one length scale for each measurement, and noise. These five hyperparameters
maximise the log marginal likelihood (Rasmussen and Williams 2006, algorithm 2.1), by L-BFGS and the gradient that
``tt.grad`` finds, through a Cholesky factor. The likelihood and its gradient are those that scikit-learn's
GaussianProcessRegressor computes at the same place.

Run it with ``./dev run python examples/gaussian_process.py``. It prints what was found, and saves
``gaussian_process.png`` beside itself.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import treadle.tensor as tt
from treadle.compile import function

mpl.use("Agg")
import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor import TensorVariable

    Array = np.ndarray

PICTURE = Path(__file__).with_suffix(".png")
NAMES = ("bmi", "bp", "s5")
TOLERANCE = 1e-8


def load() -> tuple[Array, Array]:
    """Return the standardised measurements, shape (442, 3), and the standardised target."""
    data = load_diabetes()
    x = data.data[:, [data.feature_names.index(name) for name in NAMES]]
    return x / x.std(axis=0), (data.target - data.target.mean()) / data.target.std()


def kernel(x: TensorVariable, y: TensorVariable, theta: TensorVariable) -> TensorVariable:
    """Return the covariances of the process between points, given the logarithms of variance and length scales."""
    a, b = x / tt.exp(theta[1:-1]), y / tt.exp(theta[1:-1])
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * (a @ b.T)
    return tt.exp(theta[0] - tt.maximum(squares, 0) / 2)


def factor_and_weights(x: TensorVariable, y: TensorVariable, theta: TensorVariable) -> tuple[TensorVariable, ...]:
    """Return the Cholesky factor of the covariance of what is observed, and what it gives when solved for that."""
    noisy = kernel(x, x, theta) + tt.exp(theta[-1]) * tt.eye(x.shape[0])
    factor = tt.linalg.cholesky(noisy)
    return factor, tt.linalg.cho_solve((factor, True), y)


def build() -> tuple[Callable[..., list[Array]], Callable[..., list[Array]]]:
    """Return two functions: the log marginal likelihood with its gradient, and the mean and deviation elsewhere."""
    x, y, theta, new = tt.dmatrix("x"), tt.dvector("y"), tt.dvector("theta"), tt.dmatrix("new")
    factor, weights = factor_and_weights(x, y, theta)
    halves = tt.log(tt.diagonal(factor)).sum()
    likelihood = -(y @ weights) / 2 - halves - x.shape[0] * np.log(2 * np.pi) / 2
    across = kernel(new, x, theta)
    spread = tt.linalg.solve_triangular(factor, across.T, lower=True)
    deviation = tt.sqrt(tt.exp(theta[0]) - (spread**2).sum(axis=0))
    return (
        function([theta, x, y], [likelihood, tt.grad(likelihood, theta)], name="log marginal likelihood"),
        function([theta, x, y, new], [across @ weights, deviation], name="prediction"),
    )


def fit(likelihood: Callable[..., list[Array]], x: Array, y: Array) -> tuple[Array, int]:
    """Return the hyperparameters that maximise the likelihood, as logarithms, and the number of evaluations."""

    def cost(theta: Array) -> tuple[float, Array]:
        value, slope = likelihood(theta, x, y)
        return -float(value), -slope

    found = minimize(cost, np.zeros(x.shape[1] + 2), jac=True, method="L-BFGS-B", bounds=[(-10, 10)] * (x.shape[1] + 2))
    return found.x, found.nfev


def theirs(theta: Array, x: Array, y: Array) -> tuple[float, Array]:
    """Return scikit-learn's log marginal likelihood and gradient."""
    scales = np.exp(theta)
    covariance = ConstantKernel(scales[0]) * RBF(scales[1:-1]) + WhiteKernel(scales[-1])
    model = GaussianProcessRegressor(covariance, alpha=0, optimizer=None).fit(x, y)
    value, slope = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    return float(value), slope


def draw(predict: Callable[..., list[Array]], theta: Array, x: Array, y: Array, path: Path) -> None:
    """Save mean and band along each measurement, the others at their average, over what was observed."""
    figure, axes = plt.subplots(1, len(NAMES), figsize=(11, 4), sharey=True, layout="constrained")
    for d, (name, axis) in enumerate(zip(NAMES, axes, strict=True)):
        line = np.linspace(x[:, d].min(), x[:, d].max(), 200)
        mean, deviation = predict(theta, x, y, np.outer(line, np.eye(len(NAMES))[d]))
        noisy = np.sqrt(deviation**2 + np.exp(theta[-1]))
        axis.fill_between(line, mean - 2 * noisy, mean + 2 * noisy, alpha=0.15, label="2 deviations, with noise")
        axis.fill_between(line, mean - 2 * deviation, mean + 2 * deviation, alpha=0.4, label="2 deviations of the mean")
        axis.plot(line, mean, label="mean")
        axis.plot(x[:, d], y, ".", markersize=3, color="black", label="patients")
        axis.set(xlabel=f"{name}, length scale {np.exp(theta[1 + d]):.2f}")
    axes[0].set(ylabel="progress after a year, standardised")
    axes[1].set(title="Gaussian process regression, diabetes data")
    axes[2].legend(fontsize="small")
    figure.savefig(path, dpi=90)


def main() -> int:
    """Fit, compare and draw; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=PICTURE, help="where to save the picture")
    given = parser.parse_args()
    x, y = load()
    likelihood, predict = build()
    theta, count = fit(likelihood, x, y)
    for name, value in zip(("variance", *(f"scale of {name}" for name in NAMES), "noise"), np.exp(theta), strict=True):
        print(f"{name:12} {value:10.6f}")
    value, slope = likelihood(theta, x, y)
    their_value, their_slope = theirs(theta, x, y)
    print(f"log marginal likelihood {value:.10f} after {count} evaluations\nscikit-learn's          {their_value:.10f}")
    draw(predict, theta, x, y, given.output)
    print(f"picture: {given.output}")
    worst = max(abs(float(value) - their_value), float(np.abs(slope - their_slope).max()))
    print(f"largest difference of value and gradient: {worst:.1e}")
    return 0 if worst < TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
