"""Cases of the rules for error functions, the normal distribution, the logit and Bessel functions."""

from __future__ import annotations

from functools import partial

import treadle.tensor as tt
from tests.tensor_rewrites.expressions import Case

_stable = partial(Case, exact=False)

CASES = [
    _stable("one_minus_erf", lambda v: 1 - tt.erf(v.x), "erfc(x)"),
    _stable("one_plus_erf", lambda v: 1 + tt.erf(v.x), "erfc(neg(x))"),
    _stable("one_minus_erfc", lambda v: 1 - tt.erfc(v.x), "erf(x)"),
    _stable("two_minus_erfc", lambda v: 2 - tt.erfc(v.x), "erfc(neg(x))"),
    _stable("erf_minus_one", lambda v: tt.erf(v.x) - 1, "neg(erfc(x))"),
    _stable("erf_plus_minus_one", lambda v: tt.erf(v.x) + -1, "neg(erfc(x))"),
    _stable("minus_one_minus_erf", lambda v: -1 - tt.erf(v.x), "neg(erfc(neg(x)))"),
    _stable("erfc_minus_one", lambda v: tt.erfc(v.x) - 1, "neg(erf(x))"),
    _stable("one_minus_ndtr", lambda v: 1 - tt.ndtr(v.x), "ndtr(neg(x))"),
    _stable("log_of_ndtr", lambda v: tt.log(tt.ndtr(v.x)), "log_ndtr(x)"),
    _stable(
        "log_of_erfc",
        lambda v: tt.log(tt.erfc(v.x)),
        "add(log_ndtr(mul(x, [-1.4142135623730951])), [0.6931471805599453])",
    ),
    _stable(
        "log_of_product_with_erfc", lambda v: tt.log(0.5 * tt.erfc(v.x)), "log_ndtr(mul(x, [-1.4142135623730951]))"
    ),
    _stable(
        "log_of_quotient_of_erfc",
        lambda v: tt.log(tt.erfc(v.x) / v.y),
        "sub(add(log_ndtr(mul(x, [-1.4142135623730951])), [0.6931471805599453]), log(y))",
    ),
    _stable("log1p_of_minus_ndtr", lambda v: tt.log1p(-tt.ndtr(v.x)), "log_ndtr(neg(x))"),
    _stable(
        "log1p_of_minus_erf",
        lambda v: tt.log1p(-tt.erf(v.x)),
        "add(log_ndtr(mul(x, [-1.4142135623730951])), [0.6931471805599453])",
    ),
    _stable(
        "log1p_of_erf",
        lambda v: tt.log1p(tt.erf(v.x)),
        "add(log_ndtr(mul(x, [1.4142135623730951])), [0.6931471805599453])",
    ),
    _stable("log_of_odds", lambda v: tt.log(v.x / (1 - v.x)), "logit(x)"),
    _stable("log_of_iv", lambda v: tt.log(tt.iv(v.y, v.x)), "add(log(ive(y, x)), abs(x))"),
    _stable("log_of_kv", lambda v: tt.log(tt.kv(v.y, v.x)), "sub(log(kve(y, x)), x)"),
    _stable("log_of_i0", lambda v: tt.log(tt.i0(v.x)), "add(log(i0e(x)), abs(x))"),
    _stable("log_of_i1", lambda v: tt.log(tt.i1(v.x)), "add(log(i1e(x)), abs(x))"),
    _stable("log_of_k0", lambda v: tt.log(tt.k0(v.x)), "sub(log(k0e(x)), x)"),
    _stable("log_of_k1", lambda v: tt.log(tt.k1(v.x)), "sub(log(k1e(x)), x)"),
    _stable("erfinv_of_erf", lambda v: tt.erfinv(tt.erf(v.x)), "x"),
    _stable("erfcinv_of_erfc", lambda v: tt.erfcinv(tt.erfc(v.x)), "x"),
    _stable("ndtri_of_ndtr", lambda v: tt.ndtri(tt.ndtr(v.x)), "x"),
    _stable("ndtri_exp_of_log_ndtr", lambda v: tt.ndtri_exp(tt.log_ndtr(v.x)), "x"),
    _stable("logit_of_sigmoid", lambda v: tt.logit(tt.sigmoid(v.x)), "x"),
    _stable("erf_of_erfinv", lambda v: tt.erf(tt.erfinv(v.x)), "switch(le(abs(x), [1.0]), x, [nan])"),
    _stable("erfc_of_erfcinv", lambda v: tt.erfc(tt.erfcinv(v.x)), "switch(le(abs(sub(x, [1.0])), [1.0]), x, [nan])"),
    _stable("ndtr_of_ndtri", lambda v: tt.ndtr(tt.ndtri(v.x)), "switch(le(abs(sub(x, [0.5])), [0.5]), x, [nan])"),
    _stable("log_ndtr_of_ndtri_exp", lambda v: tt.log_ndtr(tt.ndtri_exp(v.x)), "switch(le(x, [0.0]), x, [nan])"),
    _stable(
        "sigmoid_of_logit_function",
        lambda v: tt.sigmoid(tt.logit(v.x)),
        "switch(le(abs(sub(x, [0.5])), [0.5]), x, [nan])",
    ),
    _stable("bessel_function_of_order_zero_or_one", lambda v: tt.jv(1, v.x), "j1(x)"),
    _stable("bessel_function_of_order_zero_or_one", lambda v: tt.kve(0, v.x), "k0e(x)"),
    _stable("density_over_tail", lambda v: v.y * tt.exp(-(v.x**2)) / tt.erfc(v.x), "true_div(y, erfcx(x))"),
    _stable(
        "density_over_tail",
        lambda v: -v.y / tt.ndtr(v.x) * tt.exp(-0.5 * v.x**2),
        "neg(mul(mul([2.5066282746310002], inverse_mills_ratio(x)), y))",
    ),
]
