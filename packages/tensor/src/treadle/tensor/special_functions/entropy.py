"""x log y and the entropies made of it: 0 where x is 0, whatever the logarithm is."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from treadle.config import alias
from treadle.tensor.elementwise.arithmetic import abs_, add, mul, neg, sub, true_div
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, lt, neq
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.elementwise.exponential import log, log1p
from treadle.tensor.elementwise.logic import and_, or_
from treadle.tensor.special_functions.scipy_special import of_scipy
from treadle.tensor.types.dtype_rules import double_first, or_complex, single_first

if TYPE_CHECKING:
    from treadle.tensor.elementwise.scalar_op import Inputs, Terms
    from treadle.tensor.variables.variable import TensorLike, TensorVariable


__all__ = ["entr", "kl_div", "rel_entr", "xlog1py", "xlogx", "xlogy", "xlogy0"]


def _times_logarithm(x: TensorVariable, y: TensorVariable, logarithm: TensorVariable) -> TensorVariable:
    """Return x times the logarithm, 0 where x is 0 and y is a number."""
    return switch(and_(eq(x, 0), eq(y, y)), 0, mul(x, logarithm))


def _slope(ct: TensorVariable, x: TensorVariable, argument: TensorVariable) -> TensorVariable:
    """Return ct x / argument, 0 where x is 0."""
    zero = eq(x, 0)
    return switch(zero, 0, mul(ct, true_div(x, switch(zero, 1, argument))))


def _xlogy_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    x, y = xs
    return xlogy(ct, y), _slope(ct, x, y)


def _xlog1py_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    x, y = xs
    return xlog1py(ct, y), _slope(ct, x, add(y, 1))


def _log_ratio(x: TensorVariable, y: TensorVariable) -> TensorVariable:
    """Return log(x / y), where x and y are above 0: by their difference near 1, and beyond the range of quotients."""
    ratio = true_div(x, y)
    near = and_(gt(ratio, 0.5), lt(ratio, 2))
    # Subnormal numbers have lost digits already.
    most = 1e3 if ratio.dtype == "float16" else 1e30
    in_range = and_(gt(ratio, 1 / most), lt(ratio, most))
    return switch(near, log1p(true_div(sub(x, y), y)), switch(in_range, log(ratio), sub(log(x), log(y))))


def _divergence(x: TensorVariable, y: TensorVariable) -> TensorVariable:
    """Return x log(x / y) - x + y for positive x and y: near x = y as a series in s = (y - x) / (y + x).

    There log(y / x) is 2 artanh(s), whose first term and y - x make up s^2 (x + y).
    """
    s = true_div(sub(y, x), add(y, x))
    square = mul(s, s)
    series = add(mul(square, 0), 1 / 31)
    for k in range(29, 1, -2):
        series = add(mul(series, square), 1 / k)
    near = mul(square, sub(add(x, y), mul(mul(2, mul(x, s)), series)))
    return switch(lt(abs_(s), 0.3), near, add(sub(mul(x, _log_ratio(x, y)), x), y))


def _inside(x: TensorVariable, y: TensorVariable, value: TensorVariable, at_zero: TensorLike) -> TensorVariable:
    """Return a divergence: the value for positive operands, another one for x = 0; infinity for negative operands."""
    outside = switch(and_(eq(x, 0), ge(y, 0)), at_zero, inf)
    unknown = or_(neq(x, x), neq(y, y))
    return switch(unknown, add(x, y), switch(and_(gt(x, 0), gt(y, 0)), value, outside))


def _positive(x: TensorVariable, y: TensorVariable) -> tuple[TensorVariable, TensorVariable, TensorVariable]:
    """Return where both operands are positive, and operands that are 1 elsewhere."""
    both = and_(gt(x, 0), gt(y, 0))
    return both, switch(both, x, 1), switch(both, y, 1)


def _rel_entr_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    """Log(x / y) + 1 by x, which is minus infinity at 0; -x / y by y."""
    x, y = xs
    both, p, q = _positive(x, y)
    at_zero = switch(and_(eq(x, 0), gt(y, 0)), mul(ct, -inf), 0)
    return switch(both, mul(ct, add(_log_ratio(p, q), 1)), at_zero), switch(both, neg(mul(ct, true_div(p, q))), 0)


def _kl_div_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    """Log(x / y) by x, which is minus infinity at 0; 1 - x / y by y."""
    x, y = xs
    both, p, q = _positive(x, y)
    zero = and_(eq(x, 0), gt(y, 0))
    by_x = switch(both, mul(ct, _log_ratio(p, q)), switch(zero, mul(ct, -inf), 0))
    by_y = switch(both, mul(ct, true_div(sub(q, p), q)), switch(zero, ct, 0))
    return by_x, by_y


xlogy: Elemwise = elementwise(
    name="xlogy", body=lambda x, y: _times_logarithm(x, y, log(y)), dtypes=or_complex(double_first),
    impl=of_scipy("xlogy"), pullback=_xlogy_terms,
)  # fmt: skip
xlog1py: Elemwise = elementwise(
    name="xlog1py", body=lambda x, y: _times_logarithm(x, y, log1p(y)), dtypes=or_complex(double_first),
    impl=of_scipy("xlog1py"), pullback=_xlog1py_terms,
)  # fmt: skip
# -x log x, whose limit at 0 is 0.
entr = elementwise(
    name="entr", impl=of_scipy("entr"), dtypes=single_first,
    body=lambda x: switch(lt(x, 0), -inf, switch(eq(x, 0), 0, neg(mul(x, log(x))))),
    pullback=lambda ct, out, xs: (neg(mul(ct, add(log(xs[0]), 1))),),
)  # fmt: skip
rel_entr = elementwise(
    name="rel_entr", impl=of_scipy("rel_entr"), dtypes=single_first,
    body=lambda x, y: _inside(x, y, mul(x, _log_ratio(x, y)), 0), pullback=_rel_entr_terms,
)  # fmt: skip
kl_div = elementwise(
    name="kl_div", dtypes=single_first, image=(-0.0, inf), body=lambda x, y: _inside(x, y, _divergence(x, y), y),
    pullback=_kl_div_terms,
)  # fmt: skip


def xlogx(x: TensorLike) -> TensorVariable:
    """Return x log x, which is 0 at 0 (as scipy.special.xlogy of x and x).

    Examples
    --------
    >>> tt.xlogx([0.0, 1.0]).eval()
    array([0., 0.])
    """
    return xlogy(x, x)


xlogy0 = alias(xlogy, "xlogy0")
