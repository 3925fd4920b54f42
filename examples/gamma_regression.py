"""Gamma regression on real data: skewed positive numbers whose spread grows with their mean.

The data are those of 442 diabetes patients (Efron, Hastie, Johnstone and Tibshirani 2004; scikit-learn ships them): ten
measurements, and how far the disease had progressed a year later. Progress is modelled as gamma distributed, with a
mean that is the exponential of a linear score. Coefficients and the distribution's shape are fitted together, by
Newton's method on the log likelihood: gradient and Hessian come from ``tt.grad``, through ``gammaln`` to ``digamma``
and ``tri_gamma``. The coefficients are those that scikit-learn's GammaRegressor finds; the shape, which it does not
estimate, gives the quantiles by ``gammaincinv``.

Run it with ``./dev run python examples/gamma_regression.py``. It prints both fits, and saves ``gamma_regression.png``
beside itself.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import GammaRegressor

import treadle.tensor as tt
from treadle.compile import function

mpl.use("Agg")
import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from collections.abc import Callable

PICTURE = Path(__file__).with_suffix(".png")
TOLERANCE = 1e-6


def load() -> tuple[Any, Any, list[str]]:
    """Return the measurements, standardised and with a column of ones, shape (442, 11); the target; and names."""
    data = load_diabetes()
    features = data.data / data.data.std(axis=0)
    return np.column_stack([features, np.ones(len(features))]), data.target, [*data.feature_names, "intercept"]


def build(count: int) -> Callable[..., list[Any]]:
    """Return the function of coefficients and log shape, data and target to log likelihood, gradient and Hessian."""
    x, y, theta = tt.matrix("x"), tt.vector("y"), tt.vector("theta")
    log_mean, shape = x @ theta[:-1], tt.exp(theta[-1])
    density = shape * tt.log(shape * y) - shape * log_mean - tt.log(y) - shape * y * tt.exp(-log_mean)
    likelihood = (density - tt.gammaln(shape)).sum()
    slope = tt.grad(likelihood, theta)
    hessian = tt.stack([tt.grad(slope[i], theta) for i in range(count)])
    made: Callable[..., list[Any]] = function([theta, x, y], [likelihood, slope, hessian], name="gamma regression")
    return made


def fit(x: Any, y: Any) -> tuple[Any, float, list[float]]:
    """Return the coefficients, the shape, and the log likelihood at each step of Newton's method."""
    theta = np.zeros(x.shape[1] + 1)
    theta[-2] = np.log(y.mean())
    evaluate = build(len(theta))
    likelihood, slope, hessian = evaluate(theta, x, y)
    found = [float(likelihood)]
    for _ in range(50):
        step = np.linalg.solve(hessian, slope)
        # Half a step where a whole one leads down.
        size = 1.0
        while (better := evaluate(theta - size * step, x, y))[0] < likelihood and size > 1e-10:
            size /= 2
        theta = theta - size * step
        likelihood, slope, hessian = better
        found.append(float(likelihood))
        if np.abs(slope).max() < 1e-8 * len(y):
            break
    return theta[:-1], float(np.exp(theta[-1])), found


def draw(mean: Any, y: Any, shape: float, path: Path) -> None:
    """Save what was observed over the fitted mean, with quantiles, and how probabilities of it are spread."""
    mu, k, p = tt.vector("mu"), tt.scalar("k"), tt.vector("p")
    quantiles = function([mu, k, p], tt.gammaincinv(k, p.dimshuffle(0, "x")) * mu / k, name="quantiles")
    probability = function([mu, k, p], tt.gammainc(k, k * p / mu), name="probability")
    order = np.argsort(mean)
    low, middle, high = quantiles(mean[order], shape, np.array([0.05, 0.5, 0.95]))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(3, 2))
    left.fill_between(mean[order], low, high, alpha=0.25, label="5 % to 95 %")
    left.plot(mean[order], middle, label="median")
    left.plot(mean, y, ".", markersize=3, color="black", label="patients")
    left.set(xlabel="fitted mean", ylabel="progress after a year", title="Gamma regression, diabetes data")
    left.legend()
    right.hist(probability(mean, shape, y), bins=20, range=(0, 1))
    right.axhline(len(y) / 20, linestyle="--", color="black")
    right.set(xlabel="probability of less progress", ylabel="patients", title="Even, if the model holds")
    figure.savefig(path, dpi=90)


def main() -> int:
    """Fit, compare and draw; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=PICTURE, help="where to save the picture")
    given = parser.parse_args()
    x, y, names = load()
    coefficients, shape, found = fit(x, y)
    model = GammaRegressor(alpha=0, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(x[:, :-1], y)
    theirs = np.append(model.coef_, model.intercept_)
    print(f"{'':10} {'treadle':>14} {'scikit-learn':>14}")
    for name, ours, other in zip(names, coefficients, theirs, strict=True):
        print(f"{name:10} {ours:14.9f} {other:14.9f}")
    print(f"{'shape':10} {shape:14.9f}\nlog likelihood {found[-1]:.6f} after {len(found) - 1} steps")
    draw(np.exp(x @ coefficients), y, shape, given.output)
    print(f"picture: {given.output}")
    worst = float(np.abs(coefficients - theirs).max())
    print(f"largest difference between coefficients: {worst:.1e}")
    return 0 if worst < TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
