"""LU factors of small matrices on JAX, written out: each entry is an array over the stack.

XLA calls LAPACK for each matrix, which takes longer than the arithmetic of a few rows; what is written out here it
compiles into one loop over the stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import jax
import jax.numpy as jnp

# The most rows that are written out. Of four, elimination still takes a third of LAPACK's time, but longer to compile.
MOST_ROWS = 3

# The rows of matrices, each a list of entries.
Rows = list[list[jax.Array]]


def is_small(a: jax.Array) -> bool:
    """Whether matrices are square, and so small that they are written out."""
    rows, columns = a.shape[-2:]
    # A length may be open.
    return isinstance(rows, int) and isinstance(columns, int) and rows == columns and 0 < rows <= MOST_ROWS


@dataclass(frozen=True, slots=True)
class SmallFactors:
    """Entries of LU factors, with rows exchanged for the largest pivots, and the row that each was exchanged for."""

    rows: Rows
    pivots: Sequence[jax.Array]

    @property
    def diagonal(self) -> list[jax.Array]:
        """The pivots' values."""
        return [row[k] for k, row in enumerate(self.rows)]

    @property
    def is_singular(self) -> jax.Array:
        """Whether a pivot is zero."""
        return reduce(jnp.logical_or, (x == 0 for x in self.diagonal))

    @property
    def is_odd(self) -> jax.Array:
        """Whether the number of exchanges is odd."""
        return reduce(jnp.logical_xor, (p != k for k, p in enumerate(self.pivots)))

    def solved(self, b: jax.Array, adjoint: bool = False) -> jax.Array:
        """Return the solutions X of A X = B, or of A^H X = B."""
        n = len(self.rows)
        # All entries have a dimension for the columns of B, to be broadcast along.
        low = [[x[..., None] for x in row] for row in self.rows]
        x = [b[..., i, :] for i in range(n)]
        if adjoint:
            up = [[low[j][i].conj() for j in range(n)] for i in range(n)]
            for i in range(n):
                x[i] = reduce(jnp.subtract, (up[i][j] * x[j] for j in range(i)), x[i]) / up[i][i]
            for i in reversed(range(n)):
                x[i] = reduce(jnp.subtract, (up[i][j] * x[j] for j in range(i + 1, n)), x[i])
            for k in reversed(range(n)):
                x = _exchanged(x, k, self.pivots[k][..., None])
        else:
            for k in range(n):
                x = _exchanged(x, k, self.pivots[k][..., None])
            for i in range(n):
                x[i] = reduce(jnp.subtract, (low[i][j] * x[j] for j in range(i)), x[i])
            for i in reversed(range(n)):
                x[i] = reduce(jnp.subtract, (low[i][j] * x[j] for j in range(i + 1, n)), x[i]) / low[i][i]
        return jnp.stack(jnp.broadcast_arrays(*x), -2)


def factored(a: jax.Array) -> SmallFactors:
    """Return the factors of small matrices."""
    n = a.shape[-1]
    rows = entries(a)
    pivots: list[jax.Array] = []
    for k in range(n):
        size, pivot = _size(rows[k][k]), jnp.full(a.shape[:-2], k, "int32")
        for i in range(k + 1, n):
            other = _size(rows[i][k])
            size, pivot = jnp.where(other > size, other, size), jnp.where(other > size, i, pivot)
        pivots.append(pivot)
        columns = [_exchanged([row[j] for row in rows], k, pivot) for j in range(n)]
        rows = [[column[i] for column in columns] for i in range(n)]
        for i in range(k + 1, n):
            # A column of zeros stays one.
            rows[i][k] = jnp.where(rows[k][k] == 0, 0, rows[i][k] / rows[k][k])
            for j in range(k + 1, n):
                rows[i][j] = rows[i][j] - rows[i][k] * rows[k][j]
    return SmallFactors(rows, pivots)


def entries(a: jax.Array) -> Rows:
    """Return the entries of small matrices."""
    return [[a[..., i, j] for j in range(a.shape[-1])] for i in range(a.shape[-2])]


def stacked(rows: Rows) -> jax.Array:
    """Return matrices of entries."""
    return jnp.stack([jnp.stack(row, -1) for row in rows], -2)


def product(factors: Sequence[jax.Array]) -> jax.Array:
    """Return the product of up to three numbers, which overflows or vanishes only where it must.

    The smallest and the largest are multiplied first.
    """
    if len(factors) < MOST_ROWS:
        return reduce(jnp.multiply, factors)
    a, b, c = factors
    a, b = _ordered(a, b)
    b, c = _ordered(b, c)
    a, b = _ordered(a, b)
    return a * c * b


def _ordered(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    swap = _size(a) > _size(b)
    return jnp.where(swap, b, a), jnp.where(swap, a, b)


def _size(x: jax.Array) -> jax.Array:
    """Return what pivots are compared by: of complex numbers the sum of both parts, as in LAPACK."""
    return abs(x.real) + abs(x.imag) if jnp.iscomplexobj(x) else abs(x)


def _exchanged(column: Sequence[jax.Array], k: int, pivot: jax.Array) -> list[jax.Array]:
    """Return entries with the one at `k` exchanged for that at `pivot`, which differs along the stack."""
    result = list(column)
    for i, x in enumerate(column):
        if i != k:
            hit = pivot == i
            result[k], result[i] = jnp.where(hit, x, result[k]), jnp.where(hit, column[k], x)
    return result
