"""Implicit derivatives: of quantiles x by parameters p, -(dF/dp) / (dF/dx), where F is the distribution function.

Figurnov, Mohamed and Mnih, *Implicit reparameterization gradients*, NeurIPS 2018. A draw stays at its quantile when a
parameter changes. Everything is computed in double precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.elementwise.arithmetic import maximum, minimum
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.exponential import exp, log, sqrt
from treadle.tensor.elementwise.trigonometric import arccos, cos, sin
from treadle.tensor.random.methods.conditions import in_double
from treadle.tensor.special_functions.bessel_functions import i0e, i1e
from treadle.tensor.special_functions.densities import beta_density, gamma_density
from treadle.tensor.special_functions.gamma_functions import digamma
from treadle.tensor.special_functions.incomplete_beta import betainc_by_shape
from treadle.tensor.special_functions.incomplete_gamma import gammainc_by_shape

if TYPE_CHECKING:
    from treadle.tensor.random.methods.generator_methods import Operand


# Where g is so small that its distribution function is g**a / Gamma(a + 1).
_TINY = -50.0


def log_gamma_by_shape(a: Operand, log_g: Operand) -> Operand:
    """Return the derivative of log g by the shape a, where g has the gamma distribution of scale 1."""
    a, log_g = in_double(a), in_double(log_g)
    g = exp(maximum(log_g, _TINY))
    implicit = -gammainc_by_shape(a, g) / (g * gamma_density(a, g))
    return switch(log_g < _TINY, (digamma(a + 1) - log_g) / a, implicit)


def beta_by_shape(a: Operand, b: Operand, x: Operand, y: Operand) -> Operand:
    """Return the derivative of x by the first shape a, where x = 1 - y has the beta distribution."""
    a, b, x, y = map(in_double, (a, b, x, y))
    small = x < y
    density = beta_density(switch(small, a, b), switch(small, b, a), minimum(x, y))
    implicit = -betainc_by_shape(a, b, x, y) / density
    # Near 0 the distribution function is x**a / (a B(a, b)).
    near = x * (digamma(a + 1) - digamma(a + b) - log(x)) / a
    return switch((x > 0) & (y > 0), switch(x < 1e-30, near, implicit), 0.0)


# From these degrees of freedom on, an expansion for numbers that are not far out is more accurate than a difference.
_MANY = 300.0


def t_by_df(t: Operand, df: Operand) -> Operand:
    """Return the derivative by the degrees of freedom of a number of Student's t distribution.

    F is made of the incomplete beta function of df / (df + t**2).
    """
    t, df = in_double(t), in_double(df)
    square = t * t
    x, y = df / (df + square), square / (df + square)
    a, small = 0.5 * df, x < y
    density = beta_density(switch(small, a, 0.5), switch(small, 0.5, a), minimum(x, y)) * x * y
    exact = 0.5 * t * (1 / df + 0.5 * betainc_by_shape(a, 0.5, x, y) / density)
    # From t = z + (z**3 + z) / (4 df) + ... for a normal z (Abramowitz and Stegun 26.7.5), z expressed by t.
    first = -(1 + square) / 4
    second = square * (square - 1) / 12
    third = (3 + square * (1 + square * (1 - square))) / 24
    fourth = square * (5 - square * (1 + 3 * square * (1 - square))) / 120
    near = t * (first + (second + (third + fourth / df) / df) / df) / (df * df)
    expands = (df > _MANY) & (square < 3e-4 * df * sqrt(df))
    return switch(expands, near, switch(density > 0, exact, 0.0))


# Where exp is 0 beside 1, and where the expansion of a ratio of Bessel functions is more accurate than the ratio.
_FAR = 40.0
_CONCENTRATED = 1e3
_NODES = 32


def vonmises_by_kappa(angle: Operand, kappa: Operand) -> Operand:
    """Return the derivative by the concentration of an angle of the von Mises distribution of mean 0.

    It is minus the integral of exp(kappa * (cos(t) - cos(x))) * (cos(t) - A) from 0 to x, or the integral from x to pi,
    where A is the mean of the cosine: of the two the one in which all terms have one sign.
    """
    angle, kappa = in_double(angle), in_double(kappa)
    wrapped = angle - 2 * np.pi * (angle / (2 * np.pi)).round()
    x = abs(wrapped)
    inverse = 1 / maximum(kappa, _CONCENTRATED)
    # 1 - A, from the expansions of both functions for large arguments (DLMF 10.40.1).
    expanded = inverse * (0.5 + inverse * (0.125 + inverse * (0.125 + inverse * 25 / 128)))
    gap = switch(kappa > _CONCENTRATED, expanded, 1 - i1e(kappa) / i0e(kappa))
    inside = 2 * sin(x / 2) ** 2 < gap
    end = arccos(maximum(cos(x) - _FAR / maximum(kappa, 1e-300), -1.0))
    low, high = switch(inside, 0.0, x), switch(inside, x, end)
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    half = (high - low) / 2
    t = ((high + low) / 2)[..., None] + half[..., None] * points
    x, kappa, gap = x[..., None], kappa[..., None], gap[..., None]
    weight = exp(-2 * kappa * sin((t + x) / 2) * sin((t - x) / 2))
    total = half * ((gap - 2 * sin(t / 2) ** 2) * weight * weights).sum(axis=-1)
    return switch(inside, -total, total) * switch(wrapped < 0, -1.0, 1.0)
