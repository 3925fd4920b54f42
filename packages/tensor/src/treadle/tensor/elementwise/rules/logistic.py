"""Products of logistic functions, brought to their stable form as wholes.

With s(x) = sigmoid(x), exp(x) is s(x) / s(-x) and 1 + exp(x) is 1 / s(-x). So a product of all these, of one argument
and in whatever order and nesting, is s(x)**p * s(-x)**q. Gradients of logarithms of such functions consist of them:
factors that overflow meet factors that vanish, and only their exponents are added here.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.config import dataclass
from treadle.graph import Feature
from treadle.rewrite import Phase, RuleSet, feature_of
from treadle.tensor.elementwise.arithmetic import add as plus
from treadle.tensor.elementwise.arithmetic import mul, neg, sub, true_div
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.exponential import exp, power, reciprocal, sigmoid, sqr
from treadle.tensor.elementwise.rules.algebra import PRODUCT_SIGNS, SUM_SIGNS, base_and_exponent
from treadle.tensor.elementwise.rules.exponential import STABLE
from treadle.tensor.rewrites.analysis.patterns import EVERY_MODE
from treadle.tensor.rewrites.analysis.predicates import applies, argument_of, constant_value, function_of, kind_of
from treadle.tensor.rewrites.analysis.replacements import broadcast_like, cast_like
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import FunctionGraph
    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.elementwise.rules.algebra import Signs
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

    # What stands for an argument, up to its sign.
    Key = TensorVariable | tuple[object, ...]

# Trees are looked into as far as this many operands: the work for each node stays bounded.
MOST_FACTORS = 12
MOST_TERMS = 6
MOST_EXPONENT = 4
_SUMS = frozenset((plus.scalar_op, sub.scalar_op))
_FORMS = {sigmoid.scalar_op: "sigmoid", exp.scalar_op: "exp"}


class Operand(NamedTuple):
    """An operand of a product or sum, with the sign of its exponent or of itself."""

    var: TensorVariable
    sign: int


def operands_of(root: TensorVariable, signs: Signs, most: int) -> tuple[list[Operand], int]:
    """Return the operands of a product or sum that a variable is, from left to right, and the parity of its signs."""
    dtype = root.type.dtype
    parity = 0
    operands: list[Operand] = []
    pending: list[tuple[TensorVariable, int]] = [(root, 1)]
    count = 1
    while pending:
        var, sign = pending.pop()
        node = var.owner
        function = None if node is None else function_of(node)
        each = None if function is None else signs.get(function)
        if each is None or node is None or getattr(var.type, "dtype", "") != dtype or count > most:
            operands.append(Operand(var, sign))
            continue
        if len(each) == 1:
            if function is neg.scalar_op and signs is PRODUCT_SIGNS:
                parity ^= 1
            pending.append((node.inputs[0], sign * each[0]))
            continue
        a, b = node.inputs
        pending.append((b, sign * each[1]))
        pending.append((a, sign * each[0]))
        count += 1
    return operands, parity


class Products(Feature):
    """Feature that keeps the operands of products from one rule to the next, until an input of any node changes."""

    def __init__(self) -> None:
        self._operands: dict[TensorVariable, tuple[list[Operand], int]] = {}
        self._factors: dict[TensorVariable, tuple[dict[Key, Argument], list[int]]] = {}

    def on_change_input(
        self, fgraph: FunctionGraph, node: object, i: int, var: object, new_var: object, reason: str | None = None
    ) -> None:
        """Forget everything: a product may have other operands now."""
        if self._operands:
            self._operands.clear()
            self._factors.clear()

    def operands(self, var: TensorVariable) -> tuple[list[Operand], int]:
        """Return the operands of a product and the parity of its signs (see `operands_of`)."""
        known = self._operands.get(var)
        if known is None:
            known = self._operands[var] = operands_of(var, PRODUCT_SIGNS, MOST_FACTORS)
        return known

    def factors(self, var: TensorVariable) -> tuple[dict[Key, Argument], list[int]]:
        """Return the logistic factors of a product, by argument, and their places among the operands."""
        known = self._factors.get(var)
        if known is None:
            known = self._factors[var] = _arguments(self.operands(var)[0], var.dtype)
        return known


def products_of(fgraph: FunctionGraph) -> Products:
    """Return what is known of the products in a graph; nothing yet where the rules' features are not attached."""
    return feature_of(fgraph, Products) or Products()


RULES = RuleSet("logistic", features=(SymbolicShapes, Products))


# Logistic factors


@dataclass(slots=True)
class Argument:
    """What is known of the factors of one argument: exponents of s(x) and s(-x), and how x and -x are written.

    `forms` counts the factors; `written` tells whether any but exp is among them.
    """

    written: dict[int, TensorVariable] = field(default_factory=dict)
    exponents: dict[int, float] = field(default_factory=lambda: {1: 0.0, -1: 0.0})
    forms: float = 0
    bounded: bool = False
    quotient: bool = False

    def at(self, sign: int) -> TensorVariable:
        """Return the argument, or its negative."""
        known = self.written.get(sign)
        return known if known is not None else neg(self.written[-sign])


def _signed(var: TensorVariable) -> tuple[Key, int]:
    """Return a key for an argument up to its sign, and the sign."""
    node = var.owner
    if applies(node, neg):
        key, sign = _scale(node.inputs[0])
        return key, -sign
    if applies(node, sub):
        a, b = node.inputs
        return (("sub", a, b), 1) if id(a) <= id(b) else (("sub", b, a), -1)
    return _scale(var)


def _scale(var: TensorVariable) -> tuple[Key, int]:
    """Return a key for c * x up to the sign of the number c, and the sign."""
    node = var.owner
    if applies(node, mul, true_div):
        for at, (c, x) in enumerate((node.inputs, node.inputs[::-1])):
            value = constant_value(c)
            if value and not isinstance(value, complex) and not (node.op == true_div and at == 0):
                return (node.op, abs(value), x), 1 if value > 0 else -1
    return var, 1


def _factor(var: TensorVariable) -> tuple[TensorVariable, str, float] | None:
    """Return argument, form and power of a logistic factor: of sigmoid, exp or 1 + exp."""
    # Most operands are no factors: each is asked for its function once.
    node = var.owner
    function = function_of(node)
    if node is None or function is None:
        return None
    form = _FORMS.get(function)
    if form is not None:
        return node.inputs[0], form, 1
    if function is plus.scalar_op:
        for one, other in (node.inputs, node.inputs[::-1]):
            argument = argument_of(exp, other) if constant_value(one) == 1 else None
            if argument is not None:
                return argument, "one_plus_exp", 1
        return None
    if function is not power.scalar_op and function.exponent is None:
        return None
    base, exponent = base_and_exponent(var)
    if base is var or not (float(exponent).is_integer() and 1 < exponent <= MOST_EXPONENT):
        return None
    inner = _factor(base)
    return None if inner is None else (inner[0], inner[1], exponent * inner[2])


def _arguments(operands: Sequence[Operand], dtype: str) -> tuple[dict[Key, Argument], list[int]]:
    """Return the logistic factors among operands, by argument, and the places of the factors."""
    arguments: dict[Key, Argument] = {}
    places: list[int] = []
    for i, item in enumerate(operands):
        factor = _factor(item.var)
        if factor is None or getattr(factor[0], "dtype", "") != dtype or getattr(item.var, "dtype", "") != dtype:
            continue
        var, form, power = factor
        key, sign = _signed(var)
        argument = arguments.setdefault(key, Argument())
        argument.written.setdefault(sign, var)
        power *= item.sign
        places.append(i)
        argument.forms += abs(power)
        argument.bounded |= form != "exp"
        if form != "one_plus_exp":
            argument.exponents[sign] += power
        if form != "sigmoid":
            argument.exponents[-sign] -= power
        argument.quotient |= form == "one_plus_exp" and power < 0
    return arguments, places


def _improves(argument: Argument) -> bool:
    """Whether the stable form has fewer factors, or no overflowing one."""
    p, q = argument.exponents.values()
    left = max(abs(p), abs(q)) if p * q < 0 else abs(p) + abs(q)
    if not argument.bounded:
        return left == 0
    return left < argument.forms or (argument.quotient and p >= 0 and q >= 0)


def _stable_factors(argument: Argument) -> list[Operand]:
    """Return the factors s(x)**p * s(-x)**q; what has both signs becomes an exponential."""
    if not argument.bounded:
        # Not 1: where x is infinite or NaN, neither exp(x) * exp(-x) nor this is a number.
        return [Operand(exp(sub(argument.at(1), argument.at(1))), 1)]
    exponents = dict(argument.exponents)
    factors: list[Operand] = []
    if exponents[1] * exponents[-1] < 0:
        size = min(abs(e) for e in exponents.values())
        up = 1 if exponents[1] > 0 else -1
        factors += [Operand(exp(argument.at(up)), 1)] * int(size)
        exponents[up] -= size
        exponents[-up] += size
    for sign, exponent in exponents.items():
        if exponent:
            value = sigmoid(argument.at(sign))
            factors += [Operand(value, 1 if exponent > 0 else -1)] * int(abs(exponent))
    return factors


def product_of(factors: Sequence[Operand], parity: int, dtype: str) -> TensorVariable | None:
    """Return the product of factors in a dtype, those with negative exponents below; None for no factors."""
    result = _chain([cast(f.var, dtype) for f in factors if f.sign > 0])
    below = _chain([cast(f.var, dtype) for f in factors if f.sign < 0])
    if below is not None:
        result = reciprocal(below) if result is None else true_div(result, below)
    return neg(result) if parity and result is not None else result


def _chain(factors: Sequence[TensorVariable]) -> TensorVariable | None:
    result: TensorVariable | None = None
    at = 0
    while at < len(factors):
        factor = factors[at]
        if at + 1 < len(factors) and factors[at + 1] is factor:
            factor = sqr(factor)
            at += 1
        result = factor if result is None else mul(result, factor)
        at += 1
    return result


@RULES.rule(
    Phase.STABILIZE,
    mul,
    true_div,
    tags=EVERY_MODE,
    needs_graph=True,
    depth=4,
    needs=(exp, sigmoid),
    differs=STABLE,
)
def logistic_product(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """exp(x) / (1 + exp(x)) -> sigmoid(x), (c / sigmoid(x)) * sigmoid(x) * sigmoid(-x) -> c * sigmoid(-x).

    Products of sigmoid(x), exp(x) and 1 + exp(x), of x and -x, powers and quotients of them, in any order. Exponentials
    that only undo each other become exp(x - x).
    """
    out = node.outputs[0]
    if kind_of(out) != "f":
        return None
    products = products_of(fgraph)
    arguments, places = products.factors(out)
    better = {key: argument for key, argument in arguments.items() if _improves(argument)}
    if not better:
        return None
    operands, parity = products.operands(out)
    gone = [i for i in places if _signed(_factor(operands[i].var)[0])[0] in better]  # type: ignore[index]  # a factor
    factors = [item for i, item in enumerate(operands) if i not in set(gone)]
    if not factors and all(a.bounded and not any(a.exponents.values()) for a in better.values()):
        return None
    for argument in better.values():
        factors += _stable_factors(argument)
    return broadcast_like(fgraph, out, product_of(factors, parity, out.dtype), [operands[i].var for i in gone])


@RULES.rule(
    Phase.STABILIZE,
    mul,
    true_div,
    tags=EVERY_MODE,
    needs_graph=True,
    depth=5,
    after=("logistic_product",),
    needs=(exp, sigmoid),
    differs=STABLE,
)
def logistic_product_with_sum(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(c / sigmoid(x) - d / sigmoid(-x)) * sigmoid(x) -> c / sigmoid(x) * sigmoid(x) - d / sigmoid(-x) * sigmoid(x).

    Logistic factors are distributed over a sum where they meet their own inverses in it, as in the gradients of
    cross entropies.
    """
    out = node.outputs[0]
    if kind_of(out) != "f":
        return None
    products = products_of(fgraph)
    arguments, places = products.factors(out)
    if not places:
        return None
    operands, parity = products.operands(out)
    if _SUMS.isdisjoint([function_of(o.var.owner) for o in operands if o.sign > 0]):
        return None
    bounded = {key for key, argument in arguments.items() if any(e > 0 for e in argument.exponents.values())}
    if not bounded:
        return None
    for i, item in enumerate(operands):
        if item.sign < 0 or i in places or not applies(item.var.owner, plus, sub):
            continue
        terms, _ = operands_of(item.var, SUM_SIGNS, MOST_TERMS)
        if not any(_meets(products, term.var, bounded, out.dtype) for term in terms):
            continue
        factor = product_of([operands[k] for k in places], 0, out.dtype)
        rest = product_of([o for k, o in enumerate(operands) if k != i and k not in places], parity, out.dtype)
        total = _sum_of([Operand(mul(term.var, factor), term.sign) for term in terms])
        if rest is None:
            return cast_like(out, neg(total) if parity else total)
        return cast_like(out, mul(rest, total))
    return None


def _meets(products: Products, term: TensorVariable, keys: set[Key], dtype: str) -> bool:
    """Whether a term of a sum has a logistic factor of one of the arguments below."""
    if term.owner is None:
        return False
    if term.type.dtype == dtype:
        arguments, _ = products.factors(term)
    else:
        arguments, _ = _arguments(operands_of(term, PRODUCT_SIGNS, MOST_FACTORS)[0], dtype)
    return any(key in keys and any(e < 0 for e in argument.exponents.values()) for key, argument in arguments.items())


def _sum_of(terms: Sequence[Operand]) -> TensorVariable:
    result: Any = None
    for term in terms:
        if result is None:
            result = term.var if term.sign > 0 else neg(term.var)
        else:
            result = plus(result, term.var) if term.sign > 0 else sub(result, term.var)
    return result
