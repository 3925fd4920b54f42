"""Stable forms of error functions, of the normal distribution, of the logit and of logarithms of Bessel functions.

Each law holds for real numbers; the right side is as exact where the left side overflows, underflows or cancels.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import abs_, mul, neg, true_div
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import le
from treadle.tensor.elementwise.exponential import exp, log, log1p, reciprocal, sigmoid, sqr
from treadle.tensor.elementwise.rules.algebra import PRODUCT_SIGNS
from treadle.tensor.elementwise.rules.exponential import STABLE
from treadle.tensor.elementwise.rules.inverses import NAN
from treadle.tensor.elementwise.rules.logistic import MOST_FACTORS, Operand, operands_of
from treadle.tensor.rewrites.analysis.patterns import (
    BOTH,
    EARLY_AND_LATE,
    EVERY_MODE,
    TensorPattern,
    is_commutative,
    is_real,
)
from treadle.tensor.rewrites.analysis.predicates import (
    applies,
    argument_of,
    constant_value,
    kind_of,
)
from treadle.tensor.rewrites.analysis.replacements import cast_like
from treadle.tensor.special_functions.bessel_functions import (
    i0,
    i0e,
    i1,
    i1e,
    iv,
    ive,
    j0,
    j1,
    jv,
    k0,
    k0e,
    k1,
    k1e,
    kv,
    kve,
    y0,
    y1,
    yv,
)
from treadle.tensor.special_functions.error_functions import (
    erf,
    erfc,
    erfcinv,
    erfcx,
    erfinv,
    inverse_mills_ratio,
    log_ndtr,
    ndtr,
    ndtri,
    ndtri_exp,
)
from treadle.tensor.special_functions.stable_quotients import logit

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("special_functions", is_commutative=is_commutative, value_of=constant_value)
SQRT_2, SQRT_2_PI, LOG_2 = math.sqrt(2), math.sqrt(2 * math.pi), math.log(2)

x, y, v = (TensorPattern(name) for name in "xyv")

_stable = partial(RULES.law, phase=Phase.STABILIZE, when=is_real, tags=EVERY_MODE, differs=STABLE)

# Complements.
_stable("one_minus_erf", 1 - erf(x), erfc(x))
_stable("one_plus_erf", 1 + erf(x), erfc(-x))
_stable("one_minus_erfc", 1 - erfc(x), erf(x))
_stable("two_minus_erfc", 2 - erfc(x), erfc(-x))
_stable("erf_minus_one", erf(x) - 1, -erfc(x))
_stable("erf_plus_minus_one", erf(x) + -1, -erfc(x))
_stable("minus_one_minus_erf", -1 - erf(x), -erfc(-x))
_stable("erfc_minus_one", erfc(x) - 1, -erf(x))
_stable("one_minus_ndtr", 1 - ndtr(x), ndtr(-x))

# Logarithms.
_stable("log_of_ndtr", log(ndtr(x)), log_ndtr(x))
_stable("log_of_erfc", log(erfc(x)), log_ndtr(x * -SQRT_2) + LOG_2)
_stable("log_of_product_with_erfc", log(y * erfc(x)), log(y) + (log_ndtr(x * -SQRT_2) + LOG_2))
_stable("log_of_quotient_of_erfc", log(erfc(x) / y), (log_ndtr(x * -SQRT_2) + LOG_2) - log(y))
_stable("log1p_of_minus_ndtr", log1p(-ndtr(x)), log_ndtr(-x))
_stable("log1p_of_minus_erf", log1p(-erf(x)), log_ndtr(x * -SQRT_2) + LOG_2)
_stable("log1p_of_erf", log1p(erf(x)), log_ndtr(x * SQRT_2) + LOG_2)
_stable("log_of_odds", log(x / (1 - x)), logit(x))
_stable("log_of_iv", log(iv(v, x)), log(ive(v, x)) + abs_(x))
_stable("log_of_kv", log(kv(v, x)), log(kve(v, x)) - x)
for _plain, _scaled in ((i0, i0e), (i1, i1e)):
    _stable(f"log_of_{_plain.name}", log(_plain(x)), log(_scaled(x)) + abs_(x))
for _plain, _scaled in ((k0, k0e), (k1, k1e)):
    _stable(f"log_of_{_plain.name}", log(_plain(x)), log(_scaled(x)) - x)


# Functions that undo each other.
_undoing = partial(
    RULES.law,
    phase=EARLY_AND_LATE,
    when=is_real,
    tags=BOTH,
    before=("function_undone",),
    differs="where the inner function, as computed, leaves the range, loses digits or drops the sign of a zero",
)
_undoing("erfinv_of_erf", erfinv(erf(x)), x)
_undoing("erfcinv_of_erfc", erfcinv(erfc(x)), x)
_undoing("ndtri_of_ndtr", ndtri(ndtr(x)), x)
_undoing("ndtri_exp_of_log_ndtr", ndtri_exp(log_ndtr(x)), x)
_undoing("logit_of_sigmoid", logit(sigmoid(x)), x)
_undoing("erf_of_erfinv", erf(erfinv(x)), switch(le(abs_(x), 1), x, NAN))
_undoing("erfc_of_erfcinv", erfc(erfcinv(x)), switch(le(abs_(x - 1), 1), x, NAN))
_undoing("ndtr_of_ndtri", ndtr(ndtri(x)), switch(le(abs_(x - 0.5), 0.5), x, NAN))
_undoing("log_ndtr_of_ndtri_exp", log_ndtr(ndtri_exp(x)), switch(le(x, 0), x, NAN))
_undoing("sigmoid_of_logit_function", sigmoid(logit(x)), switch(le(abs_(x - 0.5), 0.5), x, NAN))


# Whole orders that have functions of their own, which are quicker.
_OF_ORDER = {jv: (j0, j1), yv: (y0, y1), iv: (i0, i1), ive: (i0e, i1e), kv: (k0, k1), kve: (k0e, k1e)}


@RULES.rule(Phase.SPECIALIZE, *_OF_ORDER, depth=1, differs="at infinity, where SciPy's functions differ")
def bessel_function_of_order_zero_or_one(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """jv(0, x) -> j0(x), and so on for the orders 0 and 1 of each Bessel function."""
    out, (order, x) = node.outputs[0], node.inputs
    value = constant_value(order)
    if value not in {0, 1} or x.type != out.type:
        return None
    value_of_order = _OF_ORDER[node.op][int(value.real)](x)
    return value_of_order if value_of_order.type == out.type else cast_like(out, value_of_order)


# Densities over distribution functions: what gradients of logarithms of distribution functions consist of.


def _density_of(exponent: TensorVariable) -> tuple[TensorVariable, float] | None:
    """Return u and c of an exponent -c u^2."""
    factors, parity = operands_of(exponent, PRODUCT_SIGNS, MOST_FACTORS)
    scale = -1.0 if parity else 1.0
    squared: TensorVariable | None = None
    for var, sign in factors:
        number = constant_value(var)
        if isinstance(number, int | float) and number:
            scale *= number**sign
        elif squared is None and sign == 1 and (base := argument_of(sqr, var)) is not None:
            squared = base
        else:
            return None
    return None if squared is None else (squared, -scale)


_RATIOS: dict[Elemwise, tuple[float, Callable[[TensorVariable], TensorVariable]]] = {
    # exp(-u^2) / erfc(u), and exp(-u^2 / 2) / ndtr(u).
    erfc: (1.0, lambda u: reciprocal(erfcx(u))),
    ndtr: (0.5, lambda u: mul(SQRT_2_PI, inverse_mills_ratio(u))),
}


@RULES.rule(Phase.STABILIZE, mul, true_div, tags=EVERY_MODE, differs=STABLE, needs=tuple(_RATIOS))
def density_over_tail(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """exp(-u^2) / erfc(u) -> 1 / erfcx(u), and exp(-u^2 / 2) / ndtr(u) likewise, among factors of one product."""
    out = node.outputs[0]
    if kind_of(out) != "f":
        return None
    factors, parity = operands_of(out, PRODUCT_SIGNS, MOST_FACTORS)
    densities = [(f, x) for f in factors if f.sign == 1 and (x := argument_of(exp, f.var)) is not None]
    for tail in factors:
        inner = tail.var.owner
        if tail.sign == 1 or not applies(inner, *_RATIOS):
            continue
        scale, ratio = _RATIOS[inner.op]
        u = inner.inputs[0]
        for density, exponent in densities:
            density_argument = _density_of(exponent)
            if density_argument is None or density_argument[0] is not u or density_argument[1] != scale:
                continue
            rest = [f for f in factors if f is not tail and f is not density]
            return cast_like(out, _product([*rest, Operand(ratio(u), 1)], parity))
    return None


def _product(factors: list[Operand], parity: int) -> TensorVariable:
    result: TensorVariable | None = None
    for var, sign in factors[::-1]:
        if result is None:
            result = var if sign == 1 else reciprocal(var)
        else:
            result = mul(result, var) if sign == 1 else true_div(result, var)
    assert result is not None
    return neg(result) if parity else result
