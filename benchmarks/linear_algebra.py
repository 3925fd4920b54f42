"""Models of linear algebra: Gaussian processes, stacks of small matrices, a Kalman filter, large systems."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.model import Model

if TYPE_CHECKING:
    from collections.abc import Callable


def _library(xp: Any, own: str = "linalg") -> Any:
    """Return the module of linear algebra that goes with an array module; SciPy's where there is one, on demand."""
    homes = {"numpy": "scipy.linalg", "jax.numpy": "jax.scipy.linalg"} if own == "scipy" else {}
    return import_module(homes[xp.__name__]) if xp.__name__ in homes else xp.linalg


def _solved(xp: Any, factor: Any, b: Any) -> Any:
    """Return the solutions by lower Cholesky factors, of a vector or of one vector for each matrix of a stack."""
    if xp.__name__ == "torch":
        return xp.cholesky_solve(b[..., None], factor)[..., 0]
    if xp.__name__ == "jax.numpy":
        return _library(xp, "scipy").cho_solve((factor, True), b[..., None])[..., 0]
    if xp.__name__ == "numpy":
        # SciPy loops over stacks in Python.
        half = np.linalg.solve(factor, b[..., None])
        return np.linalg.solve(np.swapaxes(factor, -1, -2), half)[..., 0]
    return xp.linalg.cho_solve((factor, True), b, b_ndim=1)


def _identity(xp: Any, n: int) -> Any:
    return xp.eye(n, dtype=xp.float64) if xp.__name__ == "torch" else xp.eye(n)


def _likelihood(n: int) -> Callable[..., Any]:
    """Return the log marginal likelihood of a Gaussian process with a squared exponential kernel, of n points."""

    def expression(xp: Any, theta: Any, x: Any, y: Any) -> Any:
        z = x / xp.exp(theta[1])
        sizes = (z * z).sum(1)
        squares = sizes[:, None] + sizes - 2 * (z @ z.T)
        covariance = xp.exp(theta[0] - 0.5 * squares) + xp.exp(theta[2]) * _identity(xp, n)
        factor = xp.linalg.cholesky(covariance)
        return -0.5 * (y * _solved(xp, factor, y)).sum() - xp.log(xp.diagonal(factor)).sum()

    return expression


def _points(n: int) -> Callable[[np.random.Generator], list[Any]]:
    def values(rng: np.random.Generator) -> list[Any]:
        x = rng.normal(size=(n, 3))
        return [np.array([0.1, 0.3, -2.0]), x, np.sin(x.sum(axis=1)) + 0.1 * rng.normal(size=n)]

    return values


def _filtered(steps: int) -> Callable[..., Any]:
    """Return the log likelihood of a linear Gaussian system with 4 states and 2 observations, step by step."""

    def expression(xp: Any, moves: Any, sees: Any, process: Any, noise: Any, mean: Any, spread: Any, y: Any) -> Any:
        total = 0.0
        for t in range(steps):
            mean = moves @ mean
            spread = moves @ spread @ moves.T + process
            off = y[t] - sees @ mean
            across = sees @ spread
            inner = across @ sees.T + noise
            gain = xp.linalg.solve(inner, across)
            total = total - 0.5 * (off * xp.linalg.solve(inner, off)).sum() - 0.5 * xp.linalg.slogdet(inner)[1]
            mean = mean + gain.T @ off
            spread = spread - gain.T @ across
        return total

    return expression


def _system(rng: np.random.Generator) -> list[Any]:
    moves = np.eye(4) + 0.1 * np.eye(4, k=2)
    sees = np.eye(2, 4)
    return [moves, sees, 0.01 * np.eye(4), 0.1 * np.eye(2), np.zeros(4), np.eye(4), rng.normal(size=(100, 2))]


def _stack(count: int, n: int, *, positive: bool = False, vectors: bool = False) -> Callable[..., list[Any]]:
    """Return a maker of matrices, positive definite or well-conditioned, and of a vector for each."""

    def values(rng: np.random.Generator) -> list[Any]:
        a = rng.normal(size=(count, n, n))
        a = a @ np.swapaxes(a, -1, -2) + np.eye(n) if positive else a + 2 * n * np.eye(n)
        return [a, rng.normal(size=(count, n))] if vectors else [a]

    return values


def _large(*, positive: bool) -> Callable[..., list[Any]]:
    def values(rng: np.random.Generator) -> list[Any]:
        a, b = rng.normal(size=(2000, 2000)), rng.normal(size=2000)
        return [a @ a.T + 2000 * np.eye(2000)] if positive else [a + 100 * np.eye(2000), b]

    return values


def _eigen(xp: Any, a: Any) -> Any:
    """Return an expression that needs both parts of a decomposition, whatever the signs of vectors."""
    values, vectors = xp.linalg.eigh(a)
    return abs(vectors) + values[..., None, :]


def _solve_stack(xp: Any, a: Any, b: Any) -> Any:
    return xp.linalg.solve(a, b[..., None])[..., 0]


def _cholesky(xp: Any, a: Any) -> Any:
    if xp.__name__ == "numpy":
        return _library(xp, "scipy").cholesky(a, lower=True)
    return xp.linalg.cholesky(a)


def _solve(xp: Any, a: Any, b: Any) -> Any:
    return _library(xp, "scipy" if xp.__name__ == "numpy" else "linalg").solve(a, b)


_TORCH = ("torch",)
PROCESS = Model(
    "Gaussian process, log marginal likelihood + gradient, n = 300", _points(300), _likelihood(300), slopes=(0,)
)
KALMAN = Model("Kalman filter, 100 steps written out, 4 states", _system, _filtered(100), without=_TORCH)
MODELS = {
    "process": PROCESS,
    "process20": Model("the same, n = 20", _points(20), _likelihood(20), slopes=(0,)),
    "cholesky8": Model(
        "Cholesky + solve, 1,000 of 8 x 8",
        _stack(1000, 8, positive=True, vectors=True),
        lambda xp, a, b: _solved(xp, xp.linalg.cholesky(a), b),
    ),
    "inverse3": Model("inverse, 10,000 of 3 x 3", _stack(10_000, 3), lambda xp, a: xp.linalg.inv(a)),
    "det3": Model("determinant, 10,000 of 3 x 3", _stack(10_000, 3), lambda xp, a: xp.linalg.det(a)),
    "eigh3": Model("eigh, 10,000 of 3 x 3", _stack(10_000, 3, positive=True), _eigen),
    "solve3": Model("solve, 10,000 of 3 x 3", _stack(10_000, 3, vectors=True), _solve_stack),
    "kalman": KALMAN,
    "solve2000": Model("solve, n = 2000 (NumPy: scipy.linalg)", _large(positive=False), _solve),
    "cholesky2000": Model("Cholesky, n = 2000 (NumPy: scipy.linalg)", _large(positive=True), _cholesky),
}
