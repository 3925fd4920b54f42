"""Logistic regression on real data, fitted by every installed backend in turn.

The data are the Wisconsin breast-cancer measurements (Street, Wolberg and Mangasarian 1993; 569 tumours, 30
features, scikit-learn ships them). Loss, gradient and update step are built symbolically; the parameters live in
shared variables. Each backend runs in a process of its own, twice: first with an empty compile directory (cold),
then with what the first run left there (warm).

Run it with ``./dev demo``. It prints one table and saves the loss curves as ``logistic_regression.png``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import treadle.tensor as tt
from treadle.compile import BACKENDS, function, shared

PENALTY = 1.0  # times half the squared weights, against the summed loss: scikit-learn's C is its inverse
STEPS = 1500


def load() -> tuple[Any, Any]:
    """Return the features, standardised, shape (569, 30), and the labels, 0 or 1, shape (569,), both float64."""
    features, labels = load_breast_cancer(return_X_y=True)
    return (features - features.mean(axis=0)) / features.std(axis=0), labels.astype("float64")


def build(x_value: Any, mode: str) -> tuple[Any, Any, Any]:
    """Return the training step and the parameters: accelerated gradient descent (Nesterov 1983)."""
    n, d = x_value.shape
    x, y = tt.matrix("x"), tt.vector("y")
    w, b = shared(np.zeros(d), name="w"), shared(0.0, name="b")
    w_ahead, b_ahead = shared(np.zeros(d), name="w_ahead"), shared(0.0, name="b_ahead")

    score = x @ w_ahead + b_ahead
    # log(1 + exp(score)) - y score is the negative log likelihood, stable for scores of any size.
    loss = (tt.softplus(score) - y * score).mean() + PENALTY / (2 * n) * (w_ahead**2).sum()
    w_slope, b_slope = tt.grad(loss, [w_ahead, b_ahead])

    augmented = np.column_stack([x_value, np.ones(n)])
    steepest = np.linalg.norm(augmented, 2) ** 2 / (4 * n) + PENALTY / n
    momentum = 1 - 2 / (1 + np.sqrt(steepest / (PENALTY / n)))
    w_next, b_next = w_ahead - w_slope / steepest, b_ahead - b_slope / steepest
    updates = {
        w: w_next,
        b: b_next,
        w_ahead: w_next + momentum * (w_next - w),
        b_ahead: b_next + momentum * (b_next - b),
    }
    return function([x, y], loss, updates=updates, mode=mode, name="step"), w, b


def fit(mode: str) -> dict[str, Any]:
    """Compile and train on one backend; return what the table and the picture show."""
    x, y = load()
    start = time.perf_counter()
    step, w, b = build(x, mode)
    losses = [float(step(x, y))]
    compiled = time.perf_counter() - start
    start = time.perf_counter()
    losses += [float(step(x, y)) for _ in range(STEPS)]
    per_step = (time.perf_counter() - start) / STEPS
    predicted = x @ w.get_value() + b.get_value() > 0
    return {
        "compile": compiled,
        "microseconds": per_step * 1e6,
        "loss": losses[-1],
        "accuracy": float((predicted == (y > 0.5)).mean()),
        "losses": losses,
    }


def fit_apart(mode: str, directory: str) -> dict[str, Any]:
    """Run `fit` in a new process with its own compile directory."""
    flags = ",".join(filter(None, [os.environ.get("TREADLE_FLAGS", ""), f"base_compiledir={directory}"]))
    done = subprocess.run(
        [sys.executable, __file__, "--fit", mode],
        env={**os.environ, "TREADLE_FLAGS": flags},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def draw(curves: dict[str, list[float]], best: float, path: Path) -> None:
    """Save the distance of each loss from the best one, by step."""
    import matplotlib as mpl  # noqa: PLC0415 - the processes that only fit should not pay for it

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415 - as above

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    styles = ["-", "--", "-.", ":", (0, (1, 3))]
    for i, (name, losses) in enumerate(curves.items()):
        distance = np.maximum(np.array(losses) - best, 1e-17)
        axes.semilogy(distance, label=name, linestyle=styles[i % len(styles)], linewidth=1 + 0.7 * (len(curves) - i))
    axes.set(xlabel="step", ylabel="loss above the best", title="Logistic regression, Wisconsin breast cancer")
    axes.legend()
    figure.savefig(path, dpi=130)


def reference() -> tuple[float, float]:
    """Return loss and accuracy of scikit-learn's own fit with the same penalty."""
    x, y = load()
    model = LogisticRegression(C=1 / PENALTY, tol=1e-12, max_iter=10_000).fit(x, y)
    score = x @ model.coef_[0] + model.intercept_[0]
    loss = np.mean(np.logaddexp(0, score) - y * score) + PENALTY / (2 * len(y)) * np.sum(model.coef_**2)
    return float(loss), float(model.score(x, y))


def compare(output: Path) -> int:
    """Fit on every backend, print the table, save the picture; return the exit status."""
    console = Console()
    table = Table(title="Logistic regression, 569 x 30: time to compile, full-batch steps")
    for column in ("backend", "cold, s", "warm, s", "us per step", "final loss", "accuracy"):
        table.add_column(column, justify="left" if column == "backend" else "right")
    results: dict[str, dict[str, Any]] = {}
    for name in BACKENDS.names():
        backend = BACKENDS.load(name)
        why = "not loadable" if backend is None else backend.unavailable()
        if why is not None:
            console.print(f"{name}: left out, {why}")
            continue
        console.print(f"{name}: fitting cold, then warm ...")
        with tempfile.TemporaryDirectory() as directory:
            cold, warm = fit_apart(name.upper(), directory), fit_apart(name.upper(), directory)
        results[name] = warm
        table.add_row(
            name,
            f"{cold['compile']:.2f}",
            f"{warm['compile']:.2f}",
            f"{warm['microseconds']:.1f}",
            f"{warm['loss']:.10f}",
            f"{warm['accuracy']:.4f}",
        )
    loss, accuracy = reference()
    table.add_row("scikit-learn", "", "", "", f"{loss:.10f}", f"{accuracy:.4f}")
    console.print(table)
    losses = [r["loss"] for r in results.values()]
    draw({name: r["losses"] for name, r in results.items()}, min(losses), output)
    console.print(f"loss curves: {output}")
    spread = max(losses) - min(losses)
    console.print(f"largest difference between final losses: {spread:.1e}")
    if spread > 1e-8:
        console.print("the backends disagree by more than 1e-8")
        return 1
    return 0


def main() -> int:
    """Run the comparison, or one fit for it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fit", metavar="MODE", help="fit on one backend and print the result as JSON")
    parser.add_argument(
        "--output", type=Path, default=Path("logistic_regression.png"), help="where to save the picture"
    )
    given = parser.parse_args()
    if given.fit:
        print(json.dumps(fit(given.fit)))
        return 0
    return compare(given.output)


if __name__ == "__main__":
    sys.exit(main())
