"""Rules for powers, roots, and for exponentials and logarithms of products.

``x**0.5`` becomes a square root: at minus infinity that is NaN, where NumPy's power is infinite. Of other halves of odd
numbers the square root is taken in a way that agrees with the power everywhere.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import abs_, add, mul, neg, sub, true_div
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq
from treadle.tensor.elementwise.exponential import log, log2, log10, power, reciprocal, sqr, sqrt
from treadle.tensor.rewrites.analysis.patterns import (
    BOTH,
    EARLY_AND_LATE,
    TensorPattern,
    is_commutative,
    is_not_complex,
    is_number,
    is_real,
)
from treadle.tensor.rewrites.analysis.predicates import (
    applies,
    constant_value,
    function_of,
    is_nonnegative,
    kind_of,
    with_trait,
)
from treadle.tensor.rewrites.analysis.replacements import broadcast_like, cast_like
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.shapes.broadcasting import ones_like
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.graph import FunctionGraph
    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

RULES = RuleSet("power", is_commutative=is_commutative, value_of=constant_value, features=(SymbolicShapes,))
# The largest exponent that becomes multiplications: they lose a bit for each doubling of the exponent.
MOST_EXPONENT = 64

x, y, a, b = (TensorPattern(name) for name in "xyab")


_law = partial(RULES.law, phase=EARLY_AND_LATE, tags=BOTH)


def _ones(node: TensorNode, match: Mapping[str, TensorVariable]) -> TensorVariable:
    """Ones."""
    return ones_like(match["x"])


_law("power_one", x**1, x, when=is_not_complex)
_law("power_two", x**2, sqr(x), when=is_number)
_law("power_minus_one", x**-1, reciprocal(x), when=is_real)
_law("product_with_itself", x * x, sqr(x), when=is_number)
# NumPy: anything to the power of 0 is 1, and so is 1 to any power, NaN too.
_law("power_zero", x**0, _ones, when=is_number)
_law("power_of_one", power(1, x), _ones, when=is_real)

_law(
    "power_half",
    x**0.5,
    sqrt(x),
    when=is_real,
    phase=Phase.SPECIALIZE,
    differs="at minus infinity, where the power is infinite, and in the sign of a negative zero",
)


def _root(base: TensorVariable) -> TensorVariable:
    """Return the square root of the base of a power, with the power's value at minus infinity.

    The sign that it has at a negative zero is for the caller to drop.
    """
    return sqrt(base if is_nonnegative(base) else switch(eq(base, -math.inf), math.inf, base))


def _without_sign(base: TensorVariable, value: TensorVariable) -> TensorVariable:
    """Return a power of a number with an exponent that is half an odd number: never below 0, at a negative zero too."""
    return value if is_nonnegative(base) else abs_(value)


def _inverse_root(node: TensorNode, match: Mapping[str, TensorVariable]) -> TensorVariable:
    """The reciprocal of the square root, without the sign of a negative zero, and 0 at minus infinity."""
    base = match["x"]
    return _without_sign(base, reciprocal(_root(base)))


_law("power_minus_half", x**-0.5, _inverse_root, when=is_real, phase=Phase.SPECIALIZE)

# Logarithms of what is taken apart exactly. A square may overflow, its root's logarithm does not.
_STABLE = "where the root, square or reciprocal leaves the range, is infinite or 0"
for _log in (log, log2, log10):
    _law(f"{_log.name}_of_sqrt", _log(sqrt(x)), 0.5 * _log(x), when=is_real, phase=Phase.STABILIZE, differs=_STABLE)
    _law(
        f"{_log.name}_of_square", _log(sqr(x)), 2 * _log(abs_(x)), when=is_real, phase=Phase.STABILIZE, differs=_STABLE
    )
    _law(
        f"{_log.name}_of_reciprocal",
        _log(reciprocal(x)),
        neg(_log(x)),
        when=is_real,
        phase=Phase.STABILIZE,
        differs=_STABLE,
    )
    _law(f"{_log.name}_of_one_over", _log(1 / x), neg(_log(x)), when=is_real, phase=Phase.STABILIZE, differs=_STABLE)


@RULES.rule(EARLY_AND_LATE, power, tags=BOTH, differs="where the inner power leaves the range")
def power_of_power(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(x**m)**n -> x**(m*n), for constant whole m and n, and floats: powers of integers wrap around."""
    inner = node.inputs[0].owner
    function = function_of(inner)
    if inner is None or function is None or kind_of(node.outputs[0]) != "f":
        return None
    below = _exponent(inner.inputs[1]) if applies(inner, power) else function.exponent
    if below is None:
        return None
    if len({getattr(v, "dtype", "") for v in (inner.inputs[0], inner.outputs[0], node.outputs[0])}) > 1:
        return None
    outer = _exponent(node.inputs[1])
    if outer is None or not outer.is_integer() or not float(below).is_integer() or outer * below == 0:
        return None
    out = node.outputs[0]
    return cast_like(out, power(inner.inputs[0], constant(outer * below, dtype=out.dtype)))


def _exponent(var: TensorVariable) -> float | None:
    """Return a constant exponent that widens nothing."""
    value = constant_value(var)
    kind = var.type
    if value is None or isinstance(value, complex) or any(n != 1 for n in kind.shape) or not math.isfinite(value):
        return None
    return float(value)


@RULES.rule(Phase.SPECIALIZE, power, tags=BOTH, depth=1)
def power_to_squares(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """x**n -> squares and products of squares, x**-n -> those of the reciprocal, x**(n + 1/2) -> with a square root.

    For n up to 64. Integers wrap around in the same way. A reciprocal leaves the range only where its powers do; the
    reciprocal of a power would be 0 where the result is a subnormal number.
    """
    out = node.outputs[0]
    base = node.inputs[0]
    exponent = _exponent(node.inputs[1])
    if exponent is None or base.dtype != out.dtype or kind_of(out) not in "iuf" or abs(exponent) < 1.5:
        return None
    whole, part = divmod(abs(exponent), 1)
    if whole > MOST_EXPONENT or part not in {0, 0.5} or (kind_of(out) != "f" and (part or exponent < 0)):
        return None
    product = _to_the(reciprocal(base) if exponent < 0 else base, int(whole))
    if part:
        root = _root(base)
        product = _without_sign(base, mul(product, reciprocal(root) if exponent < 0 else root))
    return cast_like(out, product)


def _to_the(base: TensorVariable, n: int) -> TensorVariable:
    """Return a positive whole power, by repeated squaring."""
    result: TensorVariable | None = None
    square = base
    while n > 1:
        if n % 2:
            result = square if result is None else mul(result, square)
        n //= 2
        square = sqr(square)
    return square if result is None else mul(result, square)


def _power_of(fgraph: FunctionGraph, var: TensorVariable, dtype: str) -> tuple[TensorVariable, float | None, bool]:
    """Return base and constant exponent of a factor, and whether it is a power that nothing else uses."""
    node = var.owner
    if not applies(node, power) or any(v.dtype != dtype for v in node.inputs):
        return var, 1.0, False
    return node.inputs[0], _exponent(node.inputs[1]), len(fgraph.clients[var]) == 1


@RULES.rule(EARLY_AND_LATE, mul, true_div, tags=BOTH, needs_graph=True, below=(power,))
def product_of_powers(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """x**a * x**b -> x**(a + b), x**a / x**b -> x**(a - b), where a power is not needed elsewhere.

    For constant exponents that, those of divisors negated, have one sign: others meet where x is 0 or infinite. If x
    may be negative they must be whole numbers.
    """
    out = node.outputs[0]
    if kind_of(out) != "f":
        return None
    (base, first, ends), (other, second, ends_too) = (_power_of(fgraph, v, out.dtype) for v in node.inputs)
    if base is not other or not (ends or ends_too) or first is None or second is None:
        return None
    if node.op == true_div:
        second = -second
    are_whole = first.is_integer() and second.is_integer()
    if first * second <= 0 or not (are_whole or is_nonnegative(base)):
        return None
    return cast_like(out, power(base, constant(first + second, dtype=out.dtype)))


# Exponentials


def _exponential(var: TensorVariable) -> TensorNode | None:
    """Return the node that computes a variable, if it applies a function that turns sums into products."""
    function = function_of(var.owner)
    return var.owner if function is not None and function.exponential else None


def _exponentials(fgraph: FunctionGraph, node: TensorNode) -> tuple[TensorNode, TensorNode] | None:
    """Return the nodes of both operands, if they apply one exponential to floats and one is used only here."""
    first, second = map(_exponential, node.inputs)
    if first is None or second is None or first.op != second.op:
        return None
    if any(v.inputs[0].dtype != node.outputs[0].dtype for v in (first, second)):
        return None
    return None if all(len(fgraph.clients[var]) > 1 for var in node.inputs) else (first, second)


@RULES.rule(
    Phase.SPECIALIZE,
    mul,
    true_div,
    needs_graph=True,
    differs="where an exponential overflows or underflows, and by the rounding of the sum, which large sums magnify",
    below=(with_trait(exponential=True),),
)
def product_of_exponentials(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """exp(x) * exp(y) -> exp(x + y), exp(x) / exp(y) -> exp(x - y), where one of them is not needed elsewhere.

    One exponential is computed instead of two, and it overflows only if the result does.
    """
    out = node.outputs[0]
    if kind_of(out) != "f":
        return None
    exponentials = _exponentials(fgraph, node)
    if exponentials is None:
        return None
    x, y = (e.inputs[0] for e in exponentials)
    return cast_like(out, exponentials[0].op(add(x, y) if node.op == mul else sub(x, y)))


@RULES.rule(
    Phase.SPECIALIZE,
    true_div,
    needs_graph=True,
    before=("one_over",),
    differs="where exp(y) overflows or is a subnormal number",
    below=(with_trait(exponential=True),),
)
def quotient_by_exponential(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """1 / exp(y) -> exp(-y), where exp(y) is not needed elsewhere.

    Not for x / exp(y) of another x: exp(-y) may overflow where the quotient does not.
    """
    out = node.outputs[0]
    one, below = node.inputs
    inner = _exponential(below)
    if kind_of(out) != "f" or inner is None or below.dtype != out.dtype:
        return None
    if len(fgraph.clients[below]) > 1 or kind_of(inner.inputs[0]) != "f" or constant_value(one) != 1:
        return None
    return broadcast_like(fgraph, out, inner.op(neg(inner.inputs[0])), [one])
