"""Matrices with a structure whose lengths are unknown when built, square or not, and expressions of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import treadle.tensor as tt
from treadle.tensor import linalg

if TYPE_CHECKING:
    from collections.abc import Callable


class Inputs:
    """Inputs by name: x and y, of n rows and m columns; square ones of n and m rows; vectors; and both lengths."""

    def __init__(self) -> None:
        self.n, self.m = tt.lscalar("n"), tt.lscalar("m")
        self.x, self.y = tt.dmatrix("x"), tt.dmatrix("y")
        self.left, self.right = tt.dmatrix("left"), tt.dmatrix("right")
        self.v, self.w = tt.dvector("v"), tt.dvector("w")
        self.stack, self.one = tt.dtensor3("stack"), tt.dtensor3("one")

    def all(self) -> list[Any]:
        """Return the inputs."""
        return [self.n, self.m, self.x, self.y, self.left, self.right, self.v, self.w, self.stack, self.one]


def values(n: int, m: int) -> list[Any]:
    """Return a value for each input."""
    rng = np.random.default_rng(n * 7 + m)
    shapes = [(n, m), (n, m), (n, n), (m, m), (n,), (m,), (2, n, m), (1, n, m)]
    return [np.array(n), np.array(m), *(rng.uniform(0.5, 2, size=shape) for shape in shapes)]


STRUCTURES: dict[str, Callable[[Inputs], Any]] = {
    "eye": lambda i: tt.eye(i.n, i.m),
    "masked": lambda i: i.x * tt.eye(*i.x.shape),
    "both triangles": lambda i: tt.tril(tt.triu(i.x)),
    "switched": lambda i: tt.switch(tt.eye(i.n, i.m, dtype="bool"), i.x, 0.0),
    "said diagonal": lambda i: tt.assume(i.x * np.float64(1) * tt.eye(i.n, i.m), diagonal=True),
    "next diagonal": lambda i: tt.eye(i.n, i.m, k=1),
    "lower": lambda i: tt.tril(i.x),
    "upper": lambda i: tt.triu(i.x),
    "said lower": lambda i: tt.assume(tt.tril(i.x), lower_triangular=True),
    "three": lambda i: tt.tril(tt.triu(i.x, -1), 1),
    "transposed eye": lambda i: tt.eye(i.m, i.n).T,
    "transposed mask": lambda i: (i.x.T * tt.eye(i.m, i.n)).T,
    "sum": lambda i: tt.eye(i.n, i.m) + i.x * tt.eye(i.n, i.m),
    "of product": lambda i: tt.eye(i.n, i.m) @ tt.diag(i.w),
    "of rectangles": lambda i: tt.eye(i.n, i.n + 1) @ tt.eye(i.n + 1, i.m),
    "blocks": lambda i: linalg.block_diag(i.x, i.y),
    "diagonal blocks": lambda i: linalg.block_diag(tt.eye(i.n, i.m), i.y * tt.eye(i.n, i.m)),
    "kron": lambda i: tt.kron(i.x, i.y),
    "kron of diagonals": lambda i: tt.kron(tt.eye(i.n, i.m), tt.eye(i.n, i.m)),
    "kron of triangles": lambda i: tt.kron(tt.tril(i.x), tt.tril(i.y)),
    "square": lambda i: tt.diag(i.v),
    "gram": lambda i: i.x @ i.x.T + tt.eye(i.n),
    "inverse": lambda i: linalg.inv(i.x + 3 * tt.eye(i.n, i.m)),
    "inverse of diagonal": lambda i: linalg.inv(2 * tt.eye(i.n, i.m)),
    "zeros": lambda i: tt.zeros((i.n, i.m)),
    "stack of diagonals": lambda i: i.stack * tt.eye(i.n, i.m),
    "stack of triangles": lambda i: tt.tril(i.stack),
    "stack of blocks": lambda i: linalg.block_diag(i.stack, i.x),
    "blocks of stacks": lambda i: linalg.block_diag(i.one, i.stack),
}


def _ones(*lengths: Any) -> Any:
    return tt.arange(lengths[0] * lengths[1]).astype("float64").reshape(lengths) + 1


def _solve(a: Any, **options: Any) -> Any:
    return linalg.solve(a, _ones(a.shape[-2], 2), b_ndim=2, **options)


OPS: dict[str, Callable[[Any], Any]] = {
    "a @ b": lambda a: a @ _ones(a.shape[-1], 2),
    "b @ a": lambda a: _ones(2, a.shape[-2]) @ a,
    "a.mT @ b": lambda a: a.mT @ _ones(a.shape[-2], 2),
    "b @ a.mT": lambda a: _ones(2, a.shape[-1]) @ a.mT,
    "a @ a.mT": lambda a: a @ a.mT,
    "a.mT @ a": lambda a: a.mT @ a,
    "a @ v": lambda a: a @ (tt.arange(a.shape[-1]) + 1.0),
    "v @ a": lambda a: (tt.arange(a.shape[-2]) + 1.0) @ a,
    "a.mT": lambda a: a.mT + 0.5 * a.mT,
    "diagonal": lambda a: tt.diagonal(a, axis1=-2, axis2=-1),
    "inv": linalg.inv,
    "inv of inv": lambda a: linalg.inv(linalg.inv(a + 2)),
    "inv @ b": lambda a: linalg.inv(a) @ _ones(a.shape[-2], 2),
    "inv of product": lambda a: linalg.inv(linalg.inv(a) @ linalg.inv(a + 3 * tt.eye(*a.shape[-2:]))),
    "pinv": linalg.pinv,
    "solve": _solve,
    "solve symmetric": lambda a: _solve(a, assume_a="sym"),
    "solve definite": lambda a: _solve(a, assume_a="pos"),
    "solve of inverse": lambda a: _solve(linalg.inv(a)),
    "inv of solution": lambda a: linalg.inv(linalg.solve(a, _ones(a.shape[-2], a.shape[-2]), b_ndim=2)),
    "two solutions": lambda a: _solve(a) + 2 * linalg.solve(a, 1 + _ones(a.shape[-2], 2), b_ndim=2),
    "solve_triangular": lambda a: linalg.solve_triangular(a, _ones(a.shape[-2], 2), lower=True, b_ndim=2),
    "cho_solve": lambda a: linalg.cho_solve((a, True), _ones(a.shape[-2], 2), b_ndim=2),
    "cholesky": linalg.cholesky,
    "cholesky of square": lambda a: linalg.cholesky(a @ a.mT),
    "det": linalg.det,
    "det of square": lambda a: linalg.det(a @ a.mT),
    "slogdet": lambda a: linalg.slogdet(a)[1],
    "det of inverse": lambda a: linalg.det(linalg.inv(a)),
    "lu_factor and det": lambda a: linalg.lu_factor(a)[0].sum() + linalg.det(a),
    "expm": lambda a: linalg.expm(a / 4),
    "eigvalsh": linalg.eigvalsh,
    "svdvals": linalg.svdvals,
    "economy svd": lambda a: tt.abs(linalg.svd(a, full_matrices=False)[0]),
    "r of qr": lambda a: tt.abs(linalg.qr(a)[1]),
    "lu": lambda a: linalg.lu(a)[2],
    "power": lambda a: linalg.matrix_power(a, 3),
}
