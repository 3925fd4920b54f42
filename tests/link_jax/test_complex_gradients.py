"""wrap_jax and complex numbers: JAX's gradients are the conjugates of treadle's."""

import jax.numpy as jnp
import numpy as np

import treadle.tensor as tt
from treadle.link.jax import wrap_jax

Z, D = tt.zvector("z"), tt.dvector("d")
VALUES = {Z: np.array([1 + 2j, 0.3 - 0.5j]), D: np.array([0.4, -1.0])}


def test_gradients_of_both_orders_are_those_of_treadle() -> None:
    wrapped = wrap_jax(lambda z, d: jnp.exp(z * d) * jnp.conj(z))
    found = []
    for out in (wrapped(Z, D), tt.exp(Z * D) * Z.conj()):
        first = tt.grad(tt.sum(abs(out)), [Z, D])
        second = tt.grad(tt.sum(abs(first[0])) + tt.sum(first[1] ** 2), [Z, D])
        found.append([slope.eval(VALUES) for slope in (*first, *second)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other)
