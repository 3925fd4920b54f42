"""Parameters of a differential equation from noisy observations of its solution, with standard errors.

Predators and their prey follow the equations of Lotka and Volterra. The observations are simulated: SciPy solves the
equations for known parameters, and noise is put on the solution, so that the errors of what is found are known. A loop
takes steps of the classical Runge-Kutta method of order 4, and ``tt.grad`` goes back through it: four rates, two starts
and the deviation of the noise maximise the likelihood. The Hessian, also by way of the loop, gives standard errors.

Run it with ``./dev run python examples/ode_fit.py``. It prints what was found, and saves ``ode_fit.png`` beside itself.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from scipy.integrate import solve_ivp
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
NAMES = (
    "prey grow",
    "prey are eaten",
    "predators die",
    "predators grow",
    "prey at first",
    "predators at first",
    "noise",
)
TRUE = np.array([0.55, 0.028, 0.84, 0.026, 33.0, 6.0, 0.08])
YEARS, PER_YEAR, SEED = 40.0, 2, 11
# Steps of the method between two observations, and in all.
BETWEEN = 20
TOLERANCE = 1e-6


def observed() -> tuple[Array, Array]:
    """Return times, and noisy observations of prey and predators, shape (times, 2)."""
    times = np.arange(1, int(YEARS * PER_YEAR) + 1) / PER_YEAR
    noise = np.random.default_rng(SEED).normal(size=(times.size, 2))
    return times, solved(TRUE, times) * np.exp(TRUE[6] * noise)


def solved(theta: Array, times: Array) -> Array:
    """Return SciPy's solution at times."""
    grow, eaten, die, born = theta[:4]

    def rates(t: float, y: Array) -> list[float]:
        del t
        return [y[0] * (grow - eaten * y[1]), y[1] * (born * y[0] - die)]

    found = solve_ivp(rates, (0.0, times[-1]), theta[4:6], t_eval=times, rtol=1e-10, atol=1e-10)
    trajectory: Array = found.y.T
    return trajectory


def solution(theta: TensorVariable, steps: int) -> TensorVariable:
    """Return prey and predators at each observation, shape (steps, 2), by a loop in a loop."""
    h = 1.0 / (PER_YEAR * BETWEEN)
    growth = tt.stack([theta[0], -theta[2]])
    meeting = tt.stack([-theta[1], theta[3]])

    def rates(y: TensorVariable) -> TensorVariable:
        return y * (growth + meeting * y[::-1])

    def short_step(i: TensorVariable, y: TensorVariable) -> TensorVariable:
        del i
        first = rates(y)
        second = rates(y + h / 2 * first)
        third = rates(y + h / 2 * second)
        fourth = rates(y + h * third)
        return y + h / 6 * (first + 2 * second + 2 * third + fourth)

    def to_next(y: TensorVariable, row: None) -> tuple[TensorVariable, TensorVariable]:
        del row
        new = tt.fori_loop(0, BETWEEN, short_step, y, name="short steps")
        return new, new

    states: TensorVariable = tt.scan_with_carry(to_next, theta[4:6], length=steps, name="observations")[1]
    return states


def build(steps: int) -> tuple[Callable[..., list[Array]], Callable[..., Array], Callable[..., Array]]:
    """Return three functions: cost with gradient, its Hessian, and the solution, of the logarithms of parameters."""
    logs, data = tt.tensor("logs", dtype="float64", shape=(7,)), tt.tensor("data", dtype="float64", shape=(steps, 2))
    theta = tt.exp(logs)
    errors = (tt.log(data) - tt.log(solution(theta, steps))) / theta[6]
    cost = 0.5 * (errors**2).sum() + 2 * steps * logs[6]
    return (
        function([logs, data], [cost, tt.grad(cost, logs)], name="cost"),
        function([logs, data], tt.hessian(cost, logs), name="Hessian"),
        function([logs], solution(theta, steps), name="solution"),
    )


def draw(times: Array, data: Array, found: Array, path: Path) -> None:
    """Save observations and the solution found."""
    figure, axis = plt.subplots(figsize=(10, 4.5), layout="constrained")
    for i, (name, color) in enumerate((("prey", "tab:green"), ("predators", "tab:red"))):
        axis.plot(times, data[:, i], ".", color=color, markersize=5)
        axis.plot(times, found[:, i], color=color, label=name)
    axis.set(xlabel="years", ylabel="thousands", title="Simulated observations, and the solution that was fitted")
    axis.legend(fontsize="small")
    figure.savefig(path, dpi=90)


def main() -> int:
    """Simulate, fit, check and draw; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=PICTURE, help="where to save the picture")
    given = parser.parse_args()
    times, data = observed()
    cost, hessian, trajectory = build(times.size)
    guess = np.log([0.5, 0.025, 0.8, 0.025, data[0, 0], data[0, 1], 0.5])
    fit = minimize(cost, guess, args=(data,), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    covariance = np.linalg.inv(hessian(fit.x, data))
    values = np.exp(fit.x)
    deviations = values * np.sqrt(np.diag(covariance))
    print(f"simulated data; {fit.nfev} evaluations of {times.size * BETWEEN} steps and their gradient")
    for name, value, deviation, true in zip(NAMES, values, deviations, TRUE, strict=True):
        print(f"{name:18} {value:9.4f} +- {deviation:.4f}   true {true:g}")
    found = trajectory(fit.x)
    apart = np.abs(found / solved(values, times) - 1).max()
    off = np.abs(values - TRUE) / deviations
    print(f"solution against SciPy's: {apart:.1e}; largest error {off.max():.1f} deviations")
    draw(times, data, found, given.output)
    print(f"saved {given.output.name}")
    return 0 if apart < TOLERANCE and off.max() < 4 else 1


if __name__ == "__main__":
    sys.exit(main())
