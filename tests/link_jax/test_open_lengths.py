"""Lengths that `jax.export` leaves open: what is exported once is right for every length."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import FunctionGraph, NodeTypeError
from treadle.link.jax import jax_function

X, M = tt.dvector("x"), tt.dmatrix("m")
N, (ROWS, COLUMNS) = X.shape[0], (M.shape[0], M.shape[1])
# Each with an expression of one of the lengths, a vector's or a matrix's.
VECTORS: dict[str, Any] = {
    "mean and variance": [X.mean(), X.var()],
    "slices": [X[1:], X[:-1], X[1:3], X[::2], X[::-1], X[-2:], X[:100], X[1:] - X[:-1]],
    "slices up to a length": [X[: N // 2], tt.concatenate([X[N // 2 :], X[: N // 2]]), X[N - 2 :], X[: N % 3]],
    "positions": [X[0], X[-1], X[N - 1], X[np.array([0, -1])], X[tt.arange(N)[::-1]]],
    "updates of a part": [
        tt.inc_subtensor(X[1:], 1.0),
        tt.set_subtensor(X[:-1], X[1:]),
        tt.inc_subtensor(X[np.array([0, 0])], 1.0),
        tt.set_subtensor((X > 0)[1:], X[1:] > 5),
        tt.inc_subtensor((X > 0)[1:], X[1:] > -5),
    ],
    "what is made of lengths": [
        tt.zeros(N),
        tt.ones_like(X),
        tt.full((N, 2), X[0]),
        tt.arange(N),
        tt.arange(1, 2 * N, 2),
        tt.arange(0.0, N),
        tt.linspace(0, 1, N),
        tt.eye(N),
    ],
    "lengths as values": [N * 2, X / N, X.shape, tt.prod(X.shape), tt.cast(N, "float32"), tt.maximum(N, 3) - 1],
    "reshapes": [X.reshape((N, 1)), tt.tile(X, 2), tt.repeat(X, 2), tt.roll(X, 1), tt.pad(X, 1)],
    "broadcasts": [tt.broadcast_to(X, (3, N)), X[None, :] * X[:, None], tt.outer(X, X)],
    "accumulations": [tt.cumsum(X), tt.cumprod(X[::-1])[::-1], tt.logcumsumexp(X)],
    "diagonals": [tt.diag(X), tt.diag(X, 1), tt.diag(X, -2), tt.grad((tt.diag(X, 1) ** 2).sum(), X)],
    "order": [tt.sort(X), tt.argmax(X), tt.median(X)],
    "gradients": [tt.grad((X**2).mean(), X), tt.grad((X[1:] * X[:-1]).sum(), X), tt.grad(tt.cumsum(X).var(), X)],
    "choices": [tt.ifelse(X.sum() > 0, N, 2 * N), tt.switch(X - X.mean() > 0, X, 0.0)],
}
MATRICES: dict[str, Any] = {
    "statistics": [M.mean(axis=0), (M - M.mean(0)) / (M.std(0) + 1), M.max(1)],
    "diagonals": [tt.diag(M), tt.diag(M, 1), tt.diag(M, -3), tt.trace(M), tt.diagonal(M[None] + 1, 0, 2, 1)],
    "normalisation": [tt.softmax(M, axis=1), tt.logsumexp(M, axis=0), tt.concatenate([M, 2 * M]).sum(1)],
    "slices": [M[1:, :-1], M[::-1, 0], M[tt.arange(ROWS), 0], M[0], M[None, :, None]],
    "what is made of lengths": [tt.zeros((ROWS, 2 * COLUMNS)), tt.tril(M), tt.zeros_like(M.T)],
    "reshapes": [M.reshape((ROWS * COLUMNS,)), M.reshape((-1,)), M.flatten(), M.T.reshape((ROWS, COLUMNS))],
    "gradients": [tt.grad(tt.softplus(M @ tt.ones(COLUMNS)).mean(), M), tt.grad(M[1:].mean(), M)],
    "gradients of diagonals": [
        tt.grad((tt.diag(M) ** 2).sum(), M),
        tt.grad((tt.diag(M, -1) ** 2).sum(), M),
        tt.grad(tt.trace(M @ M.T), M),
    ],
}


@pytest.mark.parametrize("case", [*(("x", k) for k in VECTORS), *(("m", k) for k in MATRICES)], ids=" ".join)
def test_a_function_is_exported_once_for_all_lengths(case: tuple[str, str]) -> None:
    name, key = case
    var, outputs = (X, VECTORS[key]) if name == "x" else (M, MATRICES[key])
    lengths = jax.export.symbolic_shape("n, k", constraints=["n >= 3", "k >= 2"])
    if name == "x":
        lengths = jax.export.symbolic_shape("n", constraints=["n >= 3"])
    expected = function([var], outputs, mode="VM")
    with jax.enable_x64(True):
        traced = jax.jit(jax_function(FunctionGraph([var], outputs)))
        described: Any = jax.ShapeDtypeStruct
        exported: Any = jax.export.export(traced)(described(lengths, "float64"))
        for shape in ((3, 2), (7, 9), (8, 2)):
            value = np.random.default_rng(0).normal(size=shape[: var.ndim])
            results = exported.call(value)
            for result, right in zip(results, expected(value), strict=True):
                assert (result.shape, result.dtype) == (right.shape, right.dtype)
                np.testing.assert_allclose(result, right, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (tt.zeros(tt.cast(tt.sqrt(ROWS), "int64")), "no arithmetic of open lengths for it, built at .*test_open"),
        (tt.zeros(tt.switch(ROWS > COLUMNS, 2, 3)), "comparison .* is inconclusive"),
    ],
)
def test_what_lengths_left_open_do_not_decide_is_refused(output: Any, reason: str) -> None:
    text = rf"input m has the symbolic shape \(n, k\), which leaves open .* \(.*{reason}.*\)\. Give jax.export constr"
    with jax.enable_x64(True):
        described: Any = jax.ShapeDtypeStruct
        matrix = described(jax.export.symbolic_shape("n, k"), "float64")
        export: Any = jax.export.export(jax.jit(jax_function(FunctionGraph([M], [output]))))
        with pytest.raises(NodeTypeError, match=text):
            export(matrix)


def test_constraints_decide_what_is_open() -> None:
    described: Any = jax.ShapeDtypeStruct
    lengths = jax.export.symbolic_shape("n, k", constraints=["n >= k"])
    with jax.enable_x64(True):
        traced = jax.jit(jax_function(FunctionGraph([M], [tt.zeros(tt.switch(ROWS >= COLUMNS, 2, 3))])))
        exported: Any = jax.export.export(traced)(described(lengths, "float64"))
        assert exported.call(np.ones((3, 2)))[0].shape == (2,)
