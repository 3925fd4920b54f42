"""Bessel functions of any real order as integrals, computed by one quadrature rule for all elements.

The path of each integral leads over its saddle point, so that what is integrated falls off to both sides without
cancelling: the result is accurate relative to the size of the function, and the integrals can be differentiated by the
order. The integrals are those of DLMF 10.9 and 10.32 (Schlaefli, Sommerfeld, Watson), the rule is tanh-sinh (Takahasi
and Mori, Publ. RIMS 9, 1974).
"""

from __future__ import annotations

import math
from functools import cache
from math import inf, nan, pi
from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.control.gradient_control import disconnected_grad
from treadle.tensor.elementwise.arithmetic import abs_, maximum, minimum
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, lt
from treadle.tensor.elementwise.exponential import exp, power, sqrt
from treadle.tensor.elementwise.logic import and_, or_
from treadle.tensor.elementwise.rounding import round_half_to_even
from treadle.tensor.elementwise.trigonometric import arcsin, arcsinh, cos, cosh, sin, sinh
from treadle.tensor.reductions.reduction import sum_
from treadle.tensor.shapes.dimshuffle import shape_padright
from treadle.tensor.types.conversion import as_tensor_variable, constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    Function = Callable[[TensorVariable], TensorVariable]

# What is less than exp(-CUT) times the largest value is left out.
CUT = 40.0
COUNT = 161
TINY = 1e-30


@cache
def _rule() -> tuple[np.ndarray, np.ndarray]:
    """Return nodes in (0, 1) and weights."""
    t = np.linspace(-3.1, 3.1, COUNT)
    s = pi / 2 * np.sinh(t)
    # 1 / (1 + exp(-2 s)), which keeps its digits near 0.
    nodes = 1 / (1 + np.exp(-2 * s))
    weights = (t[1] - t[0]) * pi / 2 * np.cosh(t) / (2 * np.cosh(s) ** 2)
    return nodes, weights


def _integral(function: Function, low: TensorLike, high: TensorVariable) -> TensorVariable:
    """Integrate a function between bounds; a bound beyond which it is negligible is disconnected, see `_cut`."""
    nodes, weights = (constant(a, dtype=high.dtype) for a in _rule())
    length = high - low
    at = shape_padright(as_tensor_variable(low)) + shape_padright(length) * nodes
    return length * sum_(function(at) * weights, axis=-1)


def _cut(bound: TensorVariable) -> TensorVariable:
    """Return a bound beyond which the integrand is negligible, as a constant for derivatives."""
    return disconnected_grad(bound)


def _wide(*operands: TensorLike) -> list[TensorVariable]:
    """Return operands with a dimension for the nodes."""
    return [shape_padright(as_tensor_variable(x)) for x in operands]


def _alternating(v: TensorVariable) -> TensorVariable:
    """Return (-1)^v for whole v."""
    return 1 - 2 * abs_(v - 2 * round_half_to_even(v / 2))


def _sine(v: TensorVariable) -> TensorVariable:
    """Return sin(pi v), which is 0 for whole v."""
    nearest = disconnected_grad(round_half_to_even(v))
    return _alternating(nearest) * sin(pi * (v - nearest))


def _cosine(v: TensorVariable) -> TensorVariable:
    """Return cos(pi v), which is 0 for halves."""
    nearest = disconnected_grad(round_half_to_even(v))
    # Not the size of the rest: its slope at 0 is 0, and the second derivative would be 0 too.
    remainder = v - nearest
    return _alternating(nearest) * sin(pi * (0.5 - switch(lt(remainder, 0), -remainder, remainder)))


def _operands(v: TensorLike, x: TensorVariable) -> tuple[TensorVariable, TensorVariable, TensorVariable]:
    """Return the order broadcast, its size, and an argument in the range of all formulas."""
    order = as_tensor_variable(v)
    order = cast(order, x.dtype) + 0 * switch(lt(abs_(x), inf), x, 0)
    size = abs_(x)
    safe = switch(and_(gt(size, 0), lt(size, inf)), size, 1)
    # Not abs, whose slope at 0 is 0: of the functions of orders from 0 on, the derivative at 0 is that to the right.
    return order, switch(lt(order, 0), -order, order), safe


def _reach(c: TensorVariable) -> TensorVariable:
    """Return where c (cosh(s) - 1) has grown to CUT."""
    return 2 * arcsinh(sqrt(CUT / 2 / maximum(c, TINY)))


def _k_scaled(a: TensorVariable, x: TensorVariable, exponent: TensorLike = 0) -> TensorVariable:
    """Return exp(x + exponent) K_a(x) for a >= 0, x > 0: an integral of exp(-x (cosh(t) - 1)) cosh(a t) (DLMF 10.32.9).

    The exponent stands in what is integrated, and in `_i_scaled` in the factor: alone its exponential may leave the
    range where the result does not, and so would derivatives.
    """
    c = sqrt(x * x + a * a)
    peak = arcsinh(a / x)
    # At a distance s below the peak the exponent has fallen by c s^2 / (2 + s) at least.
    low = maximum(peak - (CUT + sqrt(CUT * (CUT + 8 * c))) / (2 * c), 0)
    order, at, more = _wide(a, x, exponent)

    def function(t: TensorVariable) -> TensorVariable:
        half = sinh(t / 2)
        return 0.5 * exp(order * t - 2 * at * half * half + more) * (1 + exp(-2 * order * t))

    return _integral(function, _cut(low), _cut(peak + _reach(c)))


def _i_scaled(a: TensorVariable, x: TensorVariable, exponent: TensorLike = 0) -> TensorVariable:
    """Return exp(exponent - x) I_a(x) for a >= 0, x > 0: DLMF 10.32.4, its path moved to the saddle point."""
    c = sqrt(x * x + a * a)
    order, size = _wide(a, c)
    reach = 2 * arcsin(minimum(sqrt(CUT / 2 / c), 1))

    def round_saddle(t: TensorVariable) -> TensorVariable:
        half = sin(t / 2)
        return exp(-2 * size * half * half) * cos(order * (sin(t) - t))

    def beyond(s: TensorVariable) -> TensorVariable:
        half = sinh(s / 2)
        return exp(-2 * size * half * half - order * (sinh(s) + s))

    first = _integral(round_saddle, 0, _cut(reach))
    second = _integral(beyond, 0, _cut(_reach(c)))
    # exp(c - x - a asinh(a / x)), whose exponents cancel where x is large; the saddle point stands at asinh(a / x).
    scale = exp(a * (a / (c + x)) - a * arcsinh(a / x) + exponent)
    return scale / pi * (first - exp(-2 * c) * _sine(a) * second)


def _small_power_series(t: TensorVariable, terms: tuple[float, ...]) -> TensorVariable:
    square = t * t
    total = terms[-1] + 0 * t
    for term in terms[-2::-1]:
        total = term + square * total
    return total


def _theta_less_sine(t: TensorVariable) -> TensorVariable:
    """Return t - sin(t)."""
    terms = tuple((-1) ** k / math.factorial(2 * k + 3) for k in range(9))
    return switch(lt(t, 1), t**3 * _small_power_series(minimum(t, 1), terms), t - sin(t))


def _sine_less_cosine(t: TensorVariable) -> TensorVariable:
    """Return sin(t) - t cos(t)."""
    terms = tuple((-1) ** k * (2 * k + 2) / math.factorial(2 * k + 3) for k in range(9))
    return switch(lt(t, 1), t**3 * _small_power_series(minimum(t, 1), terms), sin(t) - t * cos(t))


def _moves(
    a: TensorVariable, x: TensorVariable
) -> tuple[TensorVariable, TensorVariable, TensorVariable, TensorVariable]:
    """Return order and argument as constants, and perturbations of them: zeros, with the derivative 1.

    What is integrated is exp(x sinh(z) - a z), whose integral does not depend on the path. So the path stands still in
    derivatives, and the exponent moves by dx sinh(z) - da z, which stays smooth where two saddle points meet, at a = x.
    """
    still, size = _cut(a), _cut(x)
    return still, size, a - still, x - size


def _above(a: TensorVariable, x: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Return J_a(x) and Y_a(x) for a > x > 0.

    J is Watson's integral along the path of steepest descent, w + i t with cosh(w) = (a / x) t / sin(t). Y has the rest
    of Sommerfeld's path too, on the real axis.
    """
    a, x, *moves = _moves(a, x)
    excess = (a - x) / x
    eta = arcsinh(sqrt(excess * (excess + 2)))
    sink = x * sqrt(excess * (excess + 2))
    order, at, more, peak, by_order, by_size = _wide(a, x, excess, eta, *moves)

    def path(t: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
        """Return what is integrated for J, and for Y."""
        sine = sin(t)
        beyond = more + (1 + more) * _theta_less_sine(t) / sine
        sinh_w = sqrt(beyond * (beyond + 2))
        w = arcsinh(sinh_w)
        slope = (1 + more) * _sine_less_cosine(t) / (sine * sine) / sinh_w
        size = exp(at * sinh_w * cos(t) - order * w + by_size * sinh_w * cos(t) - by_order * w)
        turn = by_size * (1 + beyond) * sine - by_order * t
        return size * (cos(turn) + slope * sin(turn)), size * (slope * cos(turn) - sin(turn))

    pi_ = constant(pi, dtype=x.dtype) + 0 * a
    j = _integral(lambda t: path(t)[0], 0, pi_) / pi
    turned = _integral(lambda t: path(t)[1], 0, pi_)
    # On the real axis the largest value stands at eta, mirrored; the saddle point at -eta ends the path.
    (sinking,) = _wide(sink)
    cube = power(6 * CUT / maximum(a, TINY), 1 / 3)
    up = minimum(_reach(sink), minimum(cube, arcsinh(CUT / maximum(a, TINY)) + 2))
    down = minimum(2 * eta, (2 * CUT + 2 * a) / maximum(a, TINY))

    def rising(s: TensorVariable) -> TensorVariable:
        half = sinh(s / 2)
        moved = by_order * (peak + s) - by_size * sinh(peak + s)
        return exp(-2 * sinking * half * half - order * (sinh(s) - s) + moved)

    def falling(s: TensorVariable) -> TensorVariable:
        half = sinh(minimum(s, 1) / 2)
        near = order * (sinh(minimum(s, 1)) - s) - 2 * sinking * half * half
        moved = by_order * (peak - s) - by_size * sinh(peak - s)
        return exp(switch(lt(s, 1), near, sinking - order * s - at * sinh(peak - s)) + moved)

    straight = exp(a * eta - sink) * (_integral(rising, 0, up) + _integral(falling, 0, down))
    return j, -(straight + turned) / pi


def _below(a: TensorVariable, x: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Return J_a(x) and Y_a(x) for 0 <= a <= x, or a little above: Sommerfeld's integral of J + iY.

    Its path leads over the saddle point at i b, b = arccos(a / x), or over 0 for a > x. It is u + i p(u), where p falls
    to 0 on the left and rises to pi on the right, at first both as steeply as u. There x sinh(u) cos(p) - a u falls
    off.
    """
    still, length, *_ = _moves(a, x)
    lower = minimum(still, length)
    sink = sqrt((length - lower) * (length + lower))
    b = 2 * arcsin(sqrt((length - lower) / (2 * length)))
    phase = sink - lower * b
    # Where b is small the path turns less sharply on the left.
    order, at, angle, rate, turned = _wide(a, x, b, 1 / maximum(b, 0.2), phase)
    # The saddle point's two ways down meet at 90 degrees; where it is a double one, at b = 0, at 120.
    (steepness,) = _wide(1 + 0.7 * (lower / length))
    reach = minimum(1.5 * _reach(sink / 2), power(12 * CUT / maximum(lower, TINY), 1 / 3))
    reach = minimum(reach, arcsinh(CUT / length) + 2)

    def value(u: TensorVariable, p: TensorVariable, slope: TensorVariable) -> tuple[TensorVariable, ...]:
        """Return the parts of what is integrated: the exponential times 1 + i p'."""
        size = exp(at * sinh(u) * cos(p) - order * u)
        turn = at * cosh(u) * sin(p) - order * p - turned
        return size * (cos(turn) - slope * sin(turn)), size * (sin(turn) + slope * cos(turn))

    def left(u: TensorVariable) -> tuple[TensorVariable, ...]:
        p = angle * exp(-rate * u)
        return value(-u, p, rate * p)

    def right(u: TensorVariable) -> tuple[TensorVariable, ...]:
        rate = steepness / (pi - angle)
        rest = (pi - angle) * exp(-rate * u)
        return value(u, pi - rest, rate * rest)

    p = _integral(lambda u: left(u)[0], 0, reach) + _integral(lambda u: right(u)[0], 0, reach)
    q = _integral(lambda u: left(u)[1], 0, reach) + _integral(lambda u: right(u)[1], 0, reach)
    # exp(i phase) / (pi i) times the integral.
    j = (p * sin(phase) + q * cos(phase)) / pi
    y = (q * sin(phase) - p * cos(phase)) / pi
    return j, y


def _j_and_y(a: TensorVariable, x: TensorVariable) -> tuple[TensorVariable, TensorVariable]:
    """Return J_a(x) and Y_a(x) for a >= 0, x > 0."""
    # The path of steepest descent has a corner where the two saddle points meet.
    above = gt(a - x, minimum(0.05 * x, power(x, 1 / 3)))
    j, y = _above(switch(above, a, 2 * x), x)
    j_below, y_below = _below(switch(above, 0 * a, a), x)
    return switch(above, j, j_below), switch(above, y, y_below)


def _for_negative(value: TensorVariable, v: TensorVariable, x: TensorVariable) -> TensorVariable:
    """Return f(x) from f(|x|): (-1)^v times as much for negative x and whole orders, NaN for others."""
    nearest = round_half_to_even(v)
    return switch(lt(x, 0), switch(eq(nearest, v), _alternating(nearest) * value, nan), value)


def jv(v: TensorLike, x: TensorVariable) -> TensorVariable:
    """Return the Bessel function of the first kind."""
    order, a, safe = _operands(v, x)
    j, y = _j_and_y(a, safe)
    value = switch(lt(order, 0), _cosine(a) * j - _sine(a) * y, j)
    is_integer = eq(round_half_to_even(order), order)
    at_zero = switch(eq(order, 0), 1, switch(or_(gt(order, 0), is_integer), 0, switch(gt(_sine(a), 0), inf, -inf)))
    value = switch(eq(x, 0), at_zero, switch(eq(abs_(x), inf), nan, value))
    return switch(eq(x, x), _for_negative(value, order, x), x)


def yv(v: TensorLike, x: TensorVariable) -> TensorVariable:
    """Return the Bessel function of the second kind."""
    order, a, safe = _operands(v, x)
    j, y = _j_and_y(a, safe)
    value = switch(lt(order, 0), _sine(a) * j + _cosine(a) * y, y)
    at_zero = switch(and_(lt(order, 0), lt(_cosine(a), 0)), inf, -inf)
    value = switch(eq(x, 0), at_zero, switch(eq(x, inf), nan, value))
    return switch(ge(x, 0), value, nan)


def ive(v: TensorLike, x: TensorVariable) -> TensorVariable:
    """Return the modified Bessel function of the first kind times exp(-|x|)."""
    return _modified_first(v, x, scaled=True)


def iv(v: TensorLike, x: TensorVariable) -> TensorVariable:
    """Return the modified Bessel function of the first kind."""
    return _modified_first(v, x, scaled=False)


def _modified_first(v: TensorLike, x: TensorVariable, *, scaled: bool) -> TensorVariable:
    order, a, safe = _operands(v, x)
    i = _i_scaled(a, safe, 0 if scaled else safe)
    # DLMF 10.27.2; K / I falls off as exp(-2x).
    reflected = i + 2 / pi * _sine(a) * _k_scaled(a, safe, -2 * safe if scaled else -safe)
    value = switch(lt(order, 0), reflected, i)
    is_integer = eq(round_half_to_even(order), order)
    at_zero = switch(eq(order, 0), 1, switch(or_(gt(order, 0), is_integer), 0, inf))
    value = switch(eq(x, 0), at_zero, switch(eq(abs_(x), inf), nan, value))
    return switch(eq(x, x), _for_negative(value, order, x), x)


def kve(v: TensorLike, x: TensorVariable) -> TensorVariable:
    """Return the modified Bessel function of the second kind times exp(x)."""
    return _modified_second(v, x, scaled=True)


def kv(v: TensorLike, x: TensorVariable) -> TensorVariable:
    """Return the modified Bessel function of the second kind."""
    return _modified_second(v, x, scaled=False)


def _modified_second(v: TensorLike, x: TensorVariable, *, scaled: bool) -> TensorVariable:
    _, a, safe = _operands(v, x)
    # As SciPy's, scaled ones are NaN at infinity.
    value = switch(eq(x, 0), inf, switch(eq(x, inf), nan if scaled else 0, _k_scaled(a, safe, 0 if scaled else -safe)))
    return switch(ge(x, 0), value, nan)
