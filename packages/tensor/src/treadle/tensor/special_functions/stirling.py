"""Stirling's formula for the gamma function, without the terms that cancel, its error as a short series."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import lt
from treadle.tensor.elementwise.exponential import log1p

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.tensor.elementwise.scalar_op import Body
    from treadle.tensor.variables.variable import TensorVariable

# From here on Stirling's series is exact to the last place.
LARGE = 10.0
# B(2k) / (2k (2k - 1)), of Stirling's series (DLMF 5.11.1).
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
# (log(1 + t) - t + r t) / (2 r**3) as a series in r**2, where r = t / (2 + t).
_LOG1P = tuple(1 / (2 * k + 3) for k in range(13))


def in_double(body: Callable[..., TensorVariable]) -> Body:
    """Return a body that is computed in float64, whatever the operands' dtypes."""
    return lambda *operands: body(*(cast(x, "float64") for x in operands))


def _polynomial(coefficients: Sequence[float], x: TensorVariable) -> TensorVariable:
    """Return the polynomial with these coefficients, the constant one first."""
    *rest, second, last = coefficients
    return reduce(lambda total, c: total * x + c, reversed(rest), x * last + second)


def log1p_less(t: TensorVariable) -> TensorVariable:
    """Return log(1 + t) - t."""
    r = t / (t + 2)
    square = r * r
    return switch(lt(abs(t), 0.4), r * (2 * square * _polynomial(_LOG1P, square) - t), log1p(t) - t)


def stirling_error(x: TensorVariable) -> TensorVariable:
    """Return the error of Stirling's formula for log Γ(x), for x from `LARGE` on."""
    return _polynomial(_STIRLING, 1 / (x * x)) / x
