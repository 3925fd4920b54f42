"""Bessel functions of real argument: derivatives by the argument from neighbouring orders, by the order by quadrature.

What compiled code takes from SciPy, JAX and PyTorch compute by the quadratures of
`treadle.tensor.special_functions.bessel_integrals`.
"""

from __future__ import annotations

import math
from functools import partial
from math import factorial, inf
from typing import TYPE_CHECKING, Any

from treadle.config import alias
from treadle.graph import Constant, graph_replace
from treadle.tensor.elementwise.arithmetic import abs_, add, maximum, mul, neg, scaled_by, sign, sub, true_div
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, gt, lt
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.elementwise.exponential import exp, sqrt
from treadle.tensor.elementwise.trigonometric import cos
from treadle.tensor.gradients.gradient import grad
from treadle.tensor.special_functions import bessel_integrals
from treadle.tensor.special_functions.scipy_special import of_scipy
from treadle.tensor.types.dtype_rules import double_first, single_first

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.elementwise.scalar_op import Inputs, Terms
    from treadle.tensor.variables.variable import TensorLike, TensorVariable


__all__ = [
    "i0", "i0e", "i1", "i1e", "iv", "ive", "j0", "j1", "jn", "jv", "jve", "k0", "k0e", "k1", "k1e", "kn", "kv", "kve",
    "y0", "y1", "yn", "yv", "yve",
]  # fmt: skip

# From here on the scaled functions I and K follow their expansion for large arguments to all digits.
FAR, TERMS = 30.0, 18


def _integral(name: str, v: TensorLike, x: TensorVariable) -> TensorVariable:
    """Return a function of any order as an integral."""
    integral: TensorVariable = getattr(bessel_integrals, name)(v, x)
    return integral


def _by_order(name: str, ct: TensorVariable, xs: Sequence[TensorVariable]) -> Variable | None:
    """Return the term of the order: what flows back through the integral that the function is."""
    v, x = xs
    if v.type.numpy_dtype.kind != "f" or isinstance(v, Constant):
        return None
    # One variable may be order and argument: each gets its own term.
    order = v.type.make_variable()
    (term,) = grad(None, [order], known_grads={_integral(name, order, x): ct})
    replaced: Variable = graph_replace(term, {order: v})
    return replaced


def _over_argument(
    value: TensorVariable, x: TensorVariable, sign_of_terms: int, scale: TensorLike = 1
) -> TensorVariable:
    """Return J1(x) / x (terms of alternating sign) or scale * I1(x) / x from their numerator.

    Near 0 it is the series (DLMF 10.2.2 and 10.25.2): derivatives of the quotient lose all digits there.
    """
    near = lt(abs_(x), 0.5)
    power = mul(0.25 * sign_of_terms, mul(x, x))
    series: Any = 0
    for k in range(8, -1, -1):
        series = add(0.5 / factorial(k) / factorial(k + 1), mul(power, series))
    return switch(near, mul(scale, series), true_div(value, switch(near, 1, x)))


def _far_slope(order: TensorLike, x: TensorVariable, sign_of_terms: int) -> TensorVariable:
    """Return the derivative of the scaled I (terms of alternating sign) or K for large x, but for a factor.

    It is the expansion sum_k (+-1)^k a_k(v) x^(-k - 1/2), term by term (DLMF 10.40.1 and 2): the difference of two
    functions, which it is elsewhere, loses as many digits as x has.
    """
    mu = mul(4, mul(order, order))
    inverse = true_div(sign_of_terms / 8, x)
    # Horner's scheme: each term is the one before times (mu - (2k - 1)^2) / (8 k x).
    total = add(mul(inverse, 0), -(TERMS + 0.5))
    for k in range(TERMS, 0, -1):
        total = add(-(k - 0.5), mul(mul(mul(sub(mu, (2 * k - 1) ** 2), 1 / k), inverse), total))
    return true_div(total, mul(x, sqrt(x)))


def _slope(near: TensorVariable, order: TensorLike, x: TensorVariable, sign_of_terms: int) -> TensorVariable:
    """Return the derivative of a scaled function: a difference near 0, and the expansion far from there."""
    size = abs_(x)
    # The terms of an order beyond sqrt(x) grow.
    limit = maximum(FAR, mul(order, order))
    far = gt(size, limit)
    factor = 1 / math.sqrt(2 * math.pi) if sign_of_terms < 0 else math.sqrt(math.pi / 2)
    slope = mul(factor, _far_slope(order, switch(far, size, add(limit, 1)), sign_of_terms))
    return switch(far, slope, near)


def _ive_slope(v: TensorVariable, x: TensorVariable, out: TensorVariable) -> TensorVariable:
    near = sub(mul(0.5, add(ive(sub(v, 1), x), ive(add(v, 1), x))), mul(sign(x), out))
    # Below 0 an order n makes (-1)^n of I(|x|), and other orders NaN.
    turned = switch(gt(x, 0), 1, neg(cos(mul(math.pi, v))))
    return switch(eq(out, out), mul(turned, _slope(near, v, x, -1)), out)


def _kve_slope(v: TensorVariable, x: TensorVariable, out: TensorVariable) -> TensorVariable:
    near = sub(out, mul(0.5, add(kve(sub(v, 1), x), kve(add(v, 1), x))))
    return switch(gt(x, 0), _slope(near, v, x, 1), near)


def _mean(f: Elemwise, v: TensorVariable, x: TensorVariable, sign_above: int) -> TensorVariable:
    """Return half the sum, or difference, of the neighbouring orders."""
    return mul(0.5, (add if sign_above > 0 else sub)(f(sub(v, 1), x), f(add(v, 1), x)))


def _scaled_first_kind(order: float, x: TensorVariable) -> TensorVariable:
    """Return the scaled function of the first kind, which the integral does not give at infinity."""
    far = eq(abs_(x), inf)
    return switch(far, 0.0, _integral("ive", order, switch(far, 1.0, x)))


def _of_order_zero_or_one(name: str, slope: Callable[..., TensorVariable], **traits: Any) -> Elemwise:
    expansion: Any = partial(_integral, name[0] + ("ve" if name[2:] else "v"), float(name[1]))
    if name in {"i0e", "i1e"}:
        expansion = partial(_scaled_first_kind, float(name[1]))
    pullback = scaled_by(slope)
    return elementwise(
        name=name, nin=1, impl=of_scipy(name), dtypes=double_first, pullback=pullback, expansion=expansion, **traits
    )


def _of_any_order(name: str, slope: Callable[..., TensorVariable], **traits: Any) -> Elemwise:
    def terms(ct: TensorVariable, out: TensorVariable, xs: Inputs) -> Terms:
        return _by_order(name, ct, xs), mul(ct, slope(*xs, out))

    expansion = partial(_integral, name)
    return elementwise(
        name=name, nin=2, impl=of_scipy(name), dtypes=single_first, pullback=terms, expansion=expansion, **traits
    )


j0: Elemwise = _of_order_zero_or_one("j0", lambda out, x: neg(j1(x)), parity="even", image=(-0.5, 1))
j1: Elemwise = _of_order_zero_or_one(
    "j1", lambda out, x: sub(j0(x), _over_argument(out, x, -1)), parity="odd", image=(-0.6, 0.6)
)
y0: Elemwise = _of_order_zero_or_one("y0", lambda out, x: neg(y1(x)), domain=(0, inf))
y1: Elemwise = _of_order_zero_or_one("y1", lambda out, x: sub(y0(x), true_div(out, x)), domain=(0, inf))
i0: Elemwise = _of_order_zero_or_one("i0", lambda out, x: i1(x), parity="even", image=(1, inf), nonzero=True)
i1: Elemwise = _of_order_zero_or_one(
    "i1", lambda out, x: sub(i0(x), _over_argument(out, x, 1)), parity="odd", monotone="increasing"
)
i0e: Elemwise = _of_order_zero_or_one(
    "i0e",
    lambda out, x: mul(sign(x), _slope(sub(i1e(abs_(x)), out), 0, x, -1)),
    parity="even",
    image=(0, 1),
    nonzero=True,
)
i1e: Elemwise = _of_order_zero_or_one(
    "i1e",
    lambda out, x: _slope(sub(sub(i0e(x), _over_argument(out, x, 1, exp(neg(abs_(x))))), abs_(out)), 1, x, -1),
    parity="odd",
    image=(-1, 1),
)
k0: Elemwise = _of_order_zero_or_one(
    "k0", lambda out, x: neg(k1(x)), monotone="decreasing", domain=(0, inf), image=(0, inf), nonzero=True
)
k1: Elemwise = _of_order_zero_or_one(
    "k1",
    lambda out, x: neg(add(k0(x), true_div(out, x))),
    monotone="decreasing",
    domain=(0, inf),
    image=(0, inf),
    nonzero=True,
)
k0e: Elemwise = _of_order_zero_or_one(
    "k0e",
    lambda out, x: _slope(sub(out, k1e(x)), 0, x, 1),
    monotone="decreasing",
    domain=(0, inf),
    image=(0, inf),
    nonzero=True,
)
k1e: Elemwise = _of_order_zero_or_one(
    "k1e",
    lambda out, x: _slope(sub(sub(out, k0e(x)), true_div(out, x)), 1, x, 1),
    monotone="decreasing",
    domain=(0, inf),
    image=(0, inf),
    nonzero=True,
)
jv: Elemwise = _of_any_order("jv", lambda v, x, out: _mean(jv, v, x, -1))
yv: Elemwise = _of_any_order("yv", lambda v, x, out: _mean(yv, v, x, -1))
iv: Elemwise = _of_any_order("iv", lambda v, x, out: _mean(iv, v, x, 1))
ive: Elemwise = _of_any_order("ive", _ive_slope)
kv: Elemwise = _of_any_order("kv", lambda v, x, out: neg(_mean(kv, v, x, 1)), image=(0, inf), nonzero=True)
kve: Elemwise = _of_any_order("kve", _kve_slope, image=(0, inf), nonzero=True)

# With real operands these are the same functions: only complex arguments are scaled, and whole orders are orders.
jve = alias(jv, "jve")
yve = alias(yv, "yve")
jn = alias(jv, "jn")
yn = alias(yv, "yn")
kn = alias(kv, "kn")
