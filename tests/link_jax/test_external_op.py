"""wrap_jax: complex numbers, of which JAX's gradients are the conjugates of treadle's, and batches."""

import jax.numpy as jnp
import numpy as np

import treadle.tensor as tt
from treadle.graph import vectorize_graph
from treadle.link.jax import wrap_jax

Z, D = tt.zvector("z"), tt.dvector("d")
VALUES = {Z: np.array([1 + 2j, 0.3 - 0.5j]), D: np.array([0.4, -1.0])}


def test_gradients_of_both_orders_are_those_of_treadle() -> None:
    wrapped = wrap_jax(lambda z, d: jnp.exp(z * d) * jnp.conj(z))
    slopes = []
    for out in (wrapped(Z, D), tt.exp(Z * D) * Z.conj()):
        first = tt.grad(tt.sum(abs(out)), [Z, D])
        second = tt.grad(tt.sum(abs(first[0])) + tt.sum(first[1] ** 2), [Z, D])
        slopes.append([slope.eval(VALUES) for slope in (*first, *second)])
    for one, other in zip(*slopes, strict=True):
        np.testing.assert_allclose(one, other)


def test_batches_and_their_gradients_are_the_librarys_own() -> None:
    x, w, wide = tt.dvector("x"), tt.dmatrix("w"), tt.dmatrix("wide")
    out = vectorize_graph(wrap_jax(lambda a, b: jnp.sin(b @ a))(x, w), {x: wide})
    values = {wide: np.arange(6.0).reshape(2, 3), w: np.ones((4, 3))}
    results = []
    for whole in (out, tt.sin(wide @ w.T)):
        first = tt.grad(whole.sum(), [wide, w])
        results.append([part.eval(values) for part in (whole, *first, tt.grad(first[0].sum(), w))])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
