"""Rules for single sums, products and signs: neutral operands, signs that meet, quotients by numbers."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import abs_, floor_div, mod, mul, neg, sign, true_div
from treadle.tensor.elementwise.exponential import reciprocal
from treadle.tensor.rewrites.analysis.patterns import (
    BOTH,
    EARLY_AND_LATE,
    TensorPattern,
    is_commutative,
    is_integer,
    is_not_complex,
    is_real,
    keeps_dtype,
    keeps_real_dtype,
)
from treadle.tensor.rewrites.analysis.predicates import applies, constant_value, kind_of
from treadle.tensor.rewrites.analysis.replacements import alloc_like, broadcast_like, cast_like
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.graph import FunctionGraph
    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

RULES = RuleSet("arithmetic", is_commutative=is_commutative, value_of=constant_value, features=(SymbolicShapes,))
# Constants of floats are folded late, so that laws about numbers are wanted then too.

x, y, c = TensorPattern("x"), TensorPattern("y"), TensorPattern("c")


_law = partial(RULES.law, phase=EARLY_AND_LATE, tags=BOTH)

# Neutral operands. Complex infinities times a real number have a part that is NaN.
_law("sum_with_zero", x + 0, x, differs="where x is a negative zero: the sum is a positive one")
_law("sum_with_negative_zero", x + -0.0, x, when=is_not_complex)
_law("difference_with_zero", x - 0, x, when=is_not_complex)
_law("zero_minus", 0 - x, neg(x), when=is_integer)
_law("product_with_one", x * 1, x, when=is_not_complex)
_law("product_with_minus_one", x * -1, neg(x), when=keeps_real_dtype)
_law("quotient_by_one", x / 1, x, when=is_not_complex)
_law("quotient_by_minus_one", x / -1, neg(x), when=keeps_real_dtype)
_law("floor_quotient_by_one", floor_div(x, 1), x, when=is_integer)

# Signs. A negative of another dtype than the result's may have wrapped around.
_law("sum_with_negative", x + -y, x - y, when=keeps_dtype)
_law("difference_with_negative", x - -y, x + y, when=keeps_dtype)
_law("negative_of_difference", neg(x - y), y - x, differs="in the sign of the zero where x equals y")
_law("product_of_negatives", (-x) * (-y), x * y, when=keeps_dtype)
_law("quotient_of_negatives", (-x) / (-y), x / y, when=keeps_dtype)

# Quotients that are products, and the other way round.
_INVERSE = "where the reciprocal overflows or underflows"
_law("product_with_reciprocal", x * reciprocal(y), x / y, when=is_real, differs=_INVERSE)
_law("product_with_one_over", x * (1 / y), x / y, when=is_real, differs=_INVERSE)
_law("quotient_by_reciprocal", x / reciprocal(y), x * y, when=is_real, differs=_INVERSE)
_law("quotient_by_one_over", x / (1 / y), x * y, when=is_real, differs=_INVERSE)

# Signs and sizes. The size of no number is NaN, and so is its sign: both sides agree on it.
_SIGN = "where x is 0 or infinite: the quotient is NaN"
_law("sign_times_abs", sign(x) * abs_(x), x, when=is_real, differs="in the sign of a negative zero")
_law("quotient_by_abs", x / abs_(x), sign(x), when=is_real, differs=_SIGN)
_law("abs_over_itself", abs_(x) / x, sign(x), when=is_real, differs=_SIGN)
_law("quotient_by_sign", x / sign(x), abs_(x), when=is_real, differs="where x is 0: the quotient is NaN")
_law("product_of_abs", abs_(x) * abs_(y), abs_(x * y), when=is_real)
_law("quotient_of_abs", abs_(x) / abs_(y), abs_(x / y), when=is_real)


def _zeros(node: TensorNode, match: Mapping[str, TensorVariable]) -> TensorVariable:
    """Zeros."""
    return zeros_like(match["x"])


# Of floats these would lose NaN and infinity.
_law("difference_with_itself", x - x, _zeros, when=is_integer)
_law("product_with_zero", x * 0, _zeros, when=is_integer)
_law("remainder_by_one", mod(x, 1), _zeros, when=is_integer)
# An integer divided by 0 is 0 in NumPy.
_law("zero_over_integer", floor_div(0, x), _zeros, when=is_integer)


@RULES.rule(
    (Phase.CANONICALIZE, Phase.STABILIZE, Phase.SPECIALIZE), mul, true_div, tags=("zero_products",), depth=1,
    needs_graph=True, differs="where x is infinite or NaN, or 0 in a quotient", is_opt_in=True,
)  # fmt: skip
def zero_times_anything(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(0 * x) -> 0, and (0 / x) -> 0, for floats; only where ``zero_products`` is asked for."""
    factors = node.inputs if node.op == mul else node.inputs[:1]
    if kind_of(node.outputs[0]) not in "fc" or not any(constant_value(factor) == 0 for factor in factors):
        return None
    return alloc_like(fgraph, node, constant(np.zeros((), node.outputs[0].dtype)))


@RULES.rule(Phase.SPECIALIZE, true_div, tags=BOTH, depth=1)
def quotient_by_power_of_two(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(x / 2**n) -> x * 2**-n, which is exact."""
    out = node.outputs[0]
    divisor = node.inputs[1]
    value = constant_value(divisor)
    if value is None or kind_of(out) != "f" or any(n != 1 for n in divisor.type.shape):
        return None
    mantissa, exponent = math.frexp(value)
    # Far from the ends of the range, also that of float16, the inverse is a normal number.
    if abs(mantissa) != 0.5 or not -10 <= exponent <= 10:
        return None
    return cast_like(out, mul(node.inputs[0], constant(1 / value, dtype=out.dtype)))


@RULES.rule(Phase.SPECIALIZE, true_div, needs_graph=True, depth=1)
def one_over(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """1 / x -> reciprocal(x)."""
    out = node.outputs[0]
    x_ = node.inputs[1]
    if constant_value(node.inputs[0]) != 1 or x_.dtype != out.dtype or kind_of(out) != "f":
        return None
    return broadcast_like(fgraph, out, reciprocal(x_), [node.inputs[0]])


@RULES.rule(EARLY_AND_LATE, mul, true_div, tags=BOTH, needs_graph=True, below=(neg,))
def sign_out_of_constant(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """-x * a -> x * -a, -x / a -> x / -a, for a constant a."""
    out = node.outputs[0]
    for negated, c_ in (node.inputs, node.inputs[::-1]):
        inner = negated.owner
        value = constant_value(c_)
        kind: Any = c_.type
        if value is None or not applies(inner, neg) or len(fgraph.clients[negated]) > 1:
            continue
        if getattr(negated, "dtype", "") != out.dtype or {kind_of(out), kind_of(c_)} - {"i", "f"}:
            continue
        if any(n != 1 for n in kind.shape):
            continue
        # A zero of integers has no sign to take.
        if kind_of(c_) == "i" and value in {0, np.iinfo(kind.dtype).min}:
            continue
        flipped = constant(-value, dtype=kind.dtype)
        operands = [flipped if v is c_ else inner.inputs[0] for v in node.inputs]
        return cast_like(out, node.op(*operands))
    return None
