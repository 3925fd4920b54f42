"""Equations for matrices on JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np

from treadle.link.jax import JAX, Checked, Lowered, fori_loop
from treadle.tensor import TensorNode
from treadle.tensor.linalg.functions.matrix_equations import Sylvester

# Up to how many unknowns one linear system for all of them is the quickest.
_FEW = 144


@JAX.register(Sylvester)
def sylvester(op: Sylvester, node: TensorNode) -> Lowered:
    """Lower to a linear system for few unknowns, and else to Schur forms, whose equation is solved by columns.

    jax.scipy.linalg.solve_sylvester takes a sum of eigenvalues for 0 by its size alone, and solves by elements.
    """

    def run(a: jax.Array, b: jax.Array, q: jax.Array) -> Checked[jax.Array]:
        batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2], q.shape[:-2])
        a, b, q = (jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b, q))
        finite = [jnp.isfinite(x).all((-2, -1)) for x in (a, b, q)]
        good = finite[0] & finite[1] & finite[2]
        solve = _as_one_system if q.shape[-1] * q.shape[-2] <= _FEW else _by_schur_forms
        a, b, q = (jnp.where(good[..., None, None], x, 0) for x in (a, b, q))
        x, apart = solve(a, b, q)
        good &= apart
        value = jnp.where(good[..., None, None], x, jnp.nan)
        return Checked(value, ~good.all() if op.on_error == "raise" else None)

    return run


def _as_one_system(a: jax.Array, b: jax.Array, q: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return X and whether it is the only one, by elimination for the elements of X, row by row."""
    m, n = q.shape[-2:]
    left = jnp.einsum("...ij,kl->...ikjl", a, jnp.eye(n, dtype=a.dtype))
    right = jnp.einsum("ij,...lk->...ikjl", jnp.eye(m, dtype=a.dtype), b)
    matrix = (left + right).reshape(*q.shape[:-2], m * n, m * n)
    factor, pivots = jax.scipy.linalg.lu_factor(matrix)
    solve = jax.scipy.linalg.lu_solve
    for _ in q.shape[:-2]:
        solve = jax.vmap(solve)
    x = solve((factor, pivots), q.reshape(*q.shape[:-2], m * n))
    sizes = jnp.abs(jnp.diagonal(factor, axis1=-2, axis2=-1))
    least = sizes.min(-1, initial=jnp.inf)
    return x.reshape(q.shape), least > np.finfo(a.dtype).eps * sizes.max(-1, initial=0)


def _by_schur_forms(a: jax.Array, b: jax.Array, q: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return X and whether it is the only one, by the method of Bartels and Stewart (1972)."""
    if q.ndim > 2:
        return jax.vmap(_by_schur_forms)(a, b, q)
    r, u = jax.scipy.linalg.schur(a, output="complex")
    s, v = jax.scipy.linalg.schur(b, output="complex")
    f = u.conj().T @ q @ v
    one = jnp.eye(r.shape[0], dtype=r.dtype)

    def solve_column(k: jax.Array, y: jax.Array) -> jax.Array:
        before = jnp.where(jnp.arange(s.shape[0]) < k, s[:, k], 0)
        column = jax.scipy.linalg.solve_triangular(r + s[k, k] * one, f[:, k] - y @ before)
        return y.at[:, k].set(column)

    x = u @ fori_loop(s.shape[0], solve_column, jnp.zeros_like(f)) @ v.conj().T
    sums = jnp.abs(jnp.diagonal(r)[:, None] + jnp.diagonal(s)).min()
    largest = jnp.maximum(jnp.abs(r).max(), jnp.abs(s).max())
    return x if jnp.iscomplexobj(q) else x.real, sums > np.finfo(q.dtype).eps * largest
