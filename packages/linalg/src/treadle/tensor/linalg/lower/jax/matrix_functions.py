"""Functions of matrices on JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from treadle.link.jax import JAX, Checked
from treadle.tensor.linalg.functions.matrix_functions import Expm
from treadle.tensor.linalg.functions.matrix_sign import MatrixSign

if TYPE_CHECKING:
    from treadle.link.jax import Lowered
    from treadle.tensor import TensorNode

    State = tuple[jax.Array, jax.Array, jax.Array, jax.Array]


# Coefficients of the Pade approximant of degree 13, by Higham (2005), divided by the first.
_PADE = np.array([
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
]) / 64764752532480000  # fmt: skip
# Up to which size of a matrix it is exact, and its first neglected coefficient (Al-Mohy and Higham 2009).
_LIMIT, _REMAINDER = 4.25, 1 / 113250775606021113483283660800000000


@JAX.register(Expm)
def expm(op: Expm, node: TensorNode) -> Lowered:
    """Lower to scaling and squaring, of all matrices at once: jax.scipy.linalg.expm squares 16 times at most."""
    return _expm


def _expm(a: jax.Array) -> jax.Array:
    real = np.dtype(np.finfo(a.dtype).dtype)
    finite = jnp.isfinite(a).all((-2, -1), keepdims=True)
    a = jnp.where(finite, a, 0)
    # A matrix of norm 1 at most, and its powers, which then do not overflow.
    k = jnp.maximum(jnp.ceil(jnp.log2(_norm(a))), 0)
    b = a * jnp.exp2(-k)
    b2 = _product(b, b)
    b4 = _product(b2, b2)
    b6 = _product(b2, b4)
    sizes = [_norm(b6) ** (1 / 6), _norm(_product(b4, b4)) ** (1 / 8), _norm(_product(b4, b6)) ** (1 / 10)]
    size = jnp.minimum(jnp.maximum(sizes[0], sizes[1]), jnp.maximum(sizes[1], sizes[2]))
    s = jnp.maximum(jnp.ceil(jnp.log2(size / _LIMIT) + k), 0)
    s = s + _further(jnp.abs(b), k - s, real)
    scale = jnp.exp2(k - s)
    x, x2, x4, x6 = b * scale, b2 * scale**2, b4 * scale**4, b6 * scale**6
    one = jnp.eye(a.shape[-1], dtype=a.dtype)
    c = _PADE.astype(real)
    odd = _product(x6, c[13] * x6 + c[11] * x4 + c[9] * x2) + c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * one
    odd = _product(x, odd)
    even = _product(x6, c[12] * x6 + c[10] * x4 + c[8] * x2) + c[6] * x6 + c[4] * x4 + c[2] * x2 + c[0] * one
    result = jnp.linalg.solve(even - odd, even + odd)

    def square(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        squarings, y = state
        return squarings + 1, jnp.where(squarings < s, _product(y, y), y)

    most = jnp.max(s, initial=0)
    result = jax.lax.while_loop(lambda state: state[0] < most, square, (jnp.zeros((), real), result))[1]
    # Squares of diagonal matrices that overflow have NaN off the diagonal.
    diagonal = jnp.exp(jnp.diagonal(a, axis1=-2, axis2=-1))[..., None] * one
    result = jnp.where((a == a * one).all((-2, -1), keepdims=True), jnp.where(one == 0, 0, diagonal), result)
    return jnp.where(finite, result, jnp.nan)


def _further(b: jax.Array, exponent: jax.Array, real: np.dtype) -> jax.Array:
    """Return how many more times to halve the matrix b * 2**exponent until the first neglected term is small."""
    row = jnp.ones((*b.shape[:-2], 1, b.shape[-1]), real)
    power = jax.lax.fori_loop(0, 26, lambda _, y: _product(y, b), row)
    # Powers of a matrix that is far from normal decay faster than those of its norm: compare the norm of a power.
    total = _product(power, b).max(-1, keepdims=True, initial=0) / jnp.where(_norm(b) == 0, 1, _norm(b))
    needed = jnp.log2(total * _REMAINDER / (np.finfo(real).eps / 2)) / 26 + exponent
    return jnp.where(total > 0, jnp.maximum(jnp.ceil(needed), 0), 0)


def _product(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.matmul(a, b, precision="highest")


def _norm(x: jax.Array) -> jax.Array:
    return jnp.abs(x).sum(-2, keepdims=True).max(-1, keepdims=True, initial=0)


@JAX.register(MatrixSign)
def matrix_sign(op: MatrixSign, node: TensorNode) -> Lowered:
    """Lower to Newton's iteration, of all matrices at once; those that are done wait for the others."""

    def run(a: jax.Array) -> Checked[jax.Array]:
        enough = np.finfo(a.dtype).eps ** 0.5

        def step(state: State) -> State:
            k, z, close, done = state
            inverse = jnp.linalg.inv(z)
            scale = jnp.sqrt(_length(inverse) / _length(z))
            new = (scale * z + inverse / scale) / 2
            change = _length(new - z) <= enough * _length(new)
            z = jnp.where(done, z, new)
            done |= close | ~jnp.isfinite(_length(new))
            return k + 1, z, close | change, done

        none = jnp.zeros((*a.shape[:-2], 1, 1), bool)
        start = (jnp.zeros((), int), a, none, none | (a.size == 0))
        _, z, close, done = jax.lax.while_loop(lambda s: (s[0] < op.steps) & ~s[3].all(), step, start)
        good = close & done & jnp.isfinite(a).all((-2, -1), keepdims=True) | (a.size == 0)
        return Checked(jnp.where(good, z, jnp.nan), ~good.all() if op.on_error == "raise" else None)

    return run


def _length(x: jax.Array) -> jax.Array:
    return jnp.sqrt((jnp.abs(x) ** 2).sum((-2, -1), keepdims=True))
