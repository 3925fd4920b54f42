"""Cosines and sines of angles in one turn, by polynomials: XLA calls a function of the C library for each number."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

# A quarter of a turn in two parts; four times the first is exact.
_QUARTER = (1.57079632673412561417e00, 6.07710050650619224932e-11)
# Of sin(x) = x + x^3 p(x^2) and cos(x) = 1 - x^2 / 2 + x^4 p(x^2) for at most an eighth of a turn, highest power first:
# the minimax polynomials of FDLIBM (Sun Microsystems, 1993; k_sin.c and k_cos.c), off by less than 2^-57.
_SINE = (
    1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
    -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01,
)  # fmt: skip
_COSINE = (
    -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
    2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02,
)  # fmt: skip


def cosine_or_sine(angle: jax.Array, is_sine: jax.Array) -> jax.Array:
    """Return the sines of angles from 0 to a turn where that is asked for, else their cosines, as float64.

    They are off by one unit in the last place at most.
    """
    x = angle.astype(np.float64)
    turned = jnp.round(x * (2 / np.pi))
    rest = (x - turned * _QUARTER[0]) - turned * _QUARTER[1]
    square = rest * rest
    half = 0.5 * square
    near_one = 1 - half
    sine = rest + rest * square * _polynomial(_SINE, square)
    # What rounding took from the difference is added with the small terms.
    cosine = near_one + (((1 - near_one) - half) + square * square * _polynomial(_COSINE, square))
    # The sine is the cosine a quarter of a turn before.
    quarters = turned.astype(np.int32) - is_sine.astype(np.int32)
    value = jnp.where(quarters & 1 == 1, sine, cosine)
    return jnp.where((quarters + 1) & 2 == 2, -value, value)


def _polynomial(coefficients: tuple[float, ...], x: jax.Array) -> jax.Array:
    value = jnp.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value
