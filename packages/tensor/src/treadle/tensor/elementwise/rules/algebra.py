"""Sums and products as wholes: constants gathered, like terms collected, factors cancelled.

A tree of additions, subtractions and signs is one sum, a tree of multiplications, divisions and signs one product,
however deep. A node that something else uses too is a term by itself, so that nothing is computed twice. What changes
is taken out of the tree where it stands; the rest keeps its nodes and their order.

Integers wrap around, and everything here is exact for them. Sums of floats are re-associated, as every compiler in
this field does it: a result may differ in its last bits, and ``x + y - y`` is x even where y is infinite or absorbs x,
``x * y / y`` is x even where y is 0. Kept are NaN and infinity where nothing else would be left of the operand:
``x - x`` and ``x / x`` stay. Constants of floats are gathered only where their own sum or product is finite and of
moderate size, so that no infinity comes in; and in products only where no other operand stands between them: what
they would be moved past may need them to stay in range.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treadle.graph import Constant
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import add, mul, neg, sub, true_div
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.exponential import power, reciprocal, sqr, sqrt
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import applies, constant_value, function_of, kind_of, with_trait
from treadle.tensor.rewrites.analysis.replacements import broadcast_like
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.graph import FunctionGraph
    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

    # The signs of the operands of each function that a sum or product is made of.
    Signs = Mapping[object, tuple[int, ...]]
    # What a part of a tree has become, None where it was taken out; and what has become of leaves, by their numbers.
    Part = TensorVariable | None
    Changes = Mapping[int, Part]

RULES = RuleSet("algebra", features=(SymbolicShapes,))

# The sign that each operand of a node has in a sum, and the sign of its exponent in a product.
SUM_SIGNS: Signs = {add.scalar_op: (1, 1), sub.scalar_op: (1, -1), neg.scalar_op: (-1,)}
PRODUCT_SIGNS: Signs = {
    mul.scalar_op: (1, 1),
    true_div.scalar_op: (1, -1),
    neg.scalar_op: (1,),
    reciprocal.scalar_op: (-1,),
}
# What a sum or product of more than one node has below its last one, and what terms and factors may be multiples and
# powers by.
SUMS = (add, sub, neg)
PRODUCTS = (mul, true_div, neg, reciprocal)
_TERMS = frozenset((add.scalar_op, sub.scalar_op, neg.scalar_op, mul.scalar_op))
POWERS = (power, with_trait(exponent=int), with_trait(exponent=float))
# Factors between these are gathered: their product is far from overflow, and so is everything it takes part in.
MOST_FACTOR = 2.0**64
# Constants whose sum would have more elements than this, and more than the constants have, are left as they are.
MOST_ELEMENTS = 1 << 11


class Leaf(NamedTuple):
    """An operand of a whole sum or product, and the sign it has there."""

    var: TensorVariable
    sign: int


class Tree(NamedTuple):
    """A whole sum or product.

    Attributes
    ----------
    leaves
        Its operands, from left to right.
    steps
        How it is computed: a number is that of a leaf, a node combines what came before.
    """

    leaves: tuple[Leaf, ...]
    steps: tuple[int | TensorNode, ...]

    def rebuilt(self, changes: Changes, combine: Callable[[TensorNode, Sequence[Part]], Part]) -> Part:
        """Return the tree's value with some leaves changed, None standing for a leaf that is taken out."""
        stack: list[tuple[Part, bool]] = []
        for step in self.steps:
            if isinstance(step, int):
                changed = step in changes
                stack.append((changes[step] if changed else self.leaves[step].var, changed))
                continue
            count = len(step.inputs)
            parts = stack[-count:]
            del stack[-count:]
            if any(changed for _, changed in parts):
                # Narrow integers must not meet each other before they are made the tree's dtype.
                dtype = step.outputs[0].dtype
                values = [None if value is None else cast(value, dtype) for value, _ in parts]
                stack.append((combine(step, values), True))
            else:
                stack.append((step.outputs[0], False))
        return stack[0][0]


def _always(node: TensorNode) -> bool:
    """Let every node belong to a tree."""
    return True


def _scales(node: TensorNode) -> bool:
    """Whether a node of a product has only one operand that is not a number."""
    inputs = node.inputs
    return len(inputs) < 2 or constant_value(inputs[0]) is not None or constant_value(inputs[1]) is not None


def is_inner(
    fgraph: FunctionGraph,
    node: TensorNode,
    signs: Signs,
    joins: Callable[[TensorNode], bool] = _always,
) -> bool:
    """Whether a node only takes part in a larger tree of the same kind; nodes that do not join end it."""
    clients = fgraph.clients[node.outputs[0]]
    if len(clients) != 1:
        return False
    client: TensorNode = next(iter(clients))[0]  # type: ignore[assignment]  # of a tensor, by an elementwise function
    return function_of(client) in signs and client.outputs[0].dtype == node.outputs[0].dtype and joins(client)


def tree_of(
    fgraph: FunctionGraph,
    root: TensorNode,
    signs: Signs,
    joins: Callable[[TensorNode], bool] = _always,
) -> Tree:
    """Return the whole sum or product that ends in a node, of nodes that join it."""
    dtype = root.outputs[0].dtype
    leaves: list[Leaf] = []
    steps: list[int | TensorNode] = []
    pending: list[tuple[TensorVariable, int, TensorNode | None]] = [(root.outputs[0], 1, None)]
    while pending:
        var, sign, done = pending.pop()
        if done is not None:
            steps.append(done)
            continue
        node = var.owner
        operands = None if node is None else signs.get(function_of(node))
        if (
            node is None
            or operands is None
            or not (node is root or (joins(node) and _opens(fgraph, root, node, dtype)))
        ):
            steps.append(len(leaves))
            leaves.append(Leaf(var, sign))
            continue
        pending.append((var, sign, node))
        if len(operands) == 2:
            pending.append((node.inputs[1], sign * operands[1], None))
        pending.append((node.inputs[0], sign * operands[0], None))
    return Tree(tuple(leaves), tuple(steps))


def _opens(fgraph: FunctionGraph, root: TensorNode, node: TensorNode, dtype: str) -> bool:
    """Whether a node below the root belongs to the tree: it has its dtype, and only the tree uses it.

    A quotient right below the root is looked into even if it has other uses: what is divided may cancel.
    """
    if node.outputs[0].dtype != dtype:
        return False
    return len(fgraph.clients[node.outputs[0]]) == 1 or (applies(node, true_div) and node.outputs[0] in root.inputs)


# Numbers


def wrapped(value: int, dtype: str) -> int:
    """Return an integer as it is in a dtype that wraps around."""
    info = np.iinfo(dtype)
    return (value - int(info.min)) % (1 << info.bits) + int(info.min)


def _is_moderate(*values: float) -> bool:
    return all(v == 0 or 1 / MOST_FACTOR <= abs(v) <= MOST_FACTOR for v in values)


def _number(leaf: Leaf) -> Any:
    """Return the number that a leaf holds in every element, or None."""
    value = constant_value(leaf.var)
    return int(value) if isinstance(value, bool) else value


# Sums


def _combined_sum(node: TensorNode, parts: Sequence[Part]) -> Part:
    """Return a node of a sum computed from parts, None standing for zero."""
    if len(parts) == 1:
        return None if parts[0] is None else neg(parts[0])
    a, b = parts
    subtracted = applies(node, sub)
    if b is None:
        return a
    if a is None:
        return neg(b) if subtracted else b
    return sub(a, b) if subtracted else add(a, b)


def _summed(tree: Tree, numbers: Sequence[int], dtype: str) -> np.ndarray | None:
    """Return the sum of constant leaves as an array, or None if it is too large or not finite."""
    total = np.zeros((), dtype)
    size = 0
    with np.errstate(all="ignore"):
        for i in numbers:
            leaf = tree.leaves[i]
            data = np.asarray(leaf.var.data if isinstance(leaf.var, Constant) else constant_value(leaf.var))
            size += data.size
            if math.prod(np.broadcast_shapes(total.shape, data.shape)) > max(MOST_ELEMENTS, size):
                return None
            term = data.astype(dtype)
            total = np.asarray(total + term if leaf.sign > 0 else total - term)
    return total if np.isfinite(total).all() else None


@RULES.rule(
    EARLY_AND_LATE,
    add,
    sub,
    neg,
    tags=BOTH,
    needs_graph=True,
    below=SUMS,
    differs="where a partial sum leaves the range or absorbs a term, and in the sign of a zero",
)
def constants_in_sum(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(x + a) + (y + b) -> (x + (a + b)) + y, for constants a and b.

    The sum of the constants must be finite. A zero is left out.
    """
    out = node.outputs[0]
    dtype = out.dtype
    if kind_of(out) not in "iuf" or is_inner(fgraph, node, SUM_SIGNS):
        return None
    tree = tree_of(fgraph, node, SUM_SIGNS)
    leaves = enumerate(tree.leaves)
    numbers = [i for i, (var, _) in leaves if isinstance(var, Constant) or constant_value(var) is not None]
    if len(numbers) < 2 or len(numbers) == len(tree.leaves):
        return None
    total = _summed(tree, numbers, dtype)
    if total is None:
        return None
    changes: dict[int, Part] = dict.fromkeys(numbers)
    if np.any(total != 0):
        at = next((i for i in numbers if tree.leaves[i].sign > 0), None)
        with np.errstate(all="ignore"):
            value = total if at is not None else np.asarray(-total)
        changes[numbers[0] if at is None else at] = constant(value)
    rebuilt = tree.rebuilt(changes, _combined_sum)
    return None if rebuilt is None else broadcast_like(fgraph, out, rebuilt, [tree.leaves[i].var for i in numbers])


def _scaled(leaf: Leaf, dtype: str) -> tuple[TensorVariable, float]:
    """Return what a term of a sum is a multiple of, and the factor."""
    node = leaf.var.owner
    if node is None or leaf.var.dtype != dtype:
        return leaf.var, 1
    function = function_of(node)
    if function is neg.scalar_op:
        return node.inputs[0], -1
    if function is not mul.scalar_op:
        return leaf.var, 1
    for c, x in (node.inputs, node.inputs[::-1]):
        value = constant_value(c)
        if value is not None and all(n == 1 for n in c.type.shape) and x.dtype == dtype and math.isfinite(value):
            return x, value
    return leaf.var, 1


def _may_repeat(node: TensorNode) -> bool:
    """Whether a sum may have a term twice: it has one operand twice, or one that is a sum or a multiple."""
    a, b = node.inputs[0], node.inputs[-1]
    return function_of(a.owner) in _TERMS or function_of(b.owner) in _TERMS or (a is b and len(node.inputs) > 1)


def _multiple(base: TensorVariable, factor: float, dtype: str) -> TensorVariable:
    """Return a multiple of a term."""
    if factor == 1:
        return base
    if factor == -1:
        return neg(cast(base, dtype))
    value = wrapped(int(factor), dtype) if np.dtype(dtype).kind in "iu" else factor
    return mul(constant(value, dtype=dtype), cast(base, dtype))


@RULES.rule(
    EARLY_AND_LATE,
    add,
    sub,
    neg,
    tags=BOTH,
    needs_graph=True,
    differs="where a*x leaves the range or absorbs a term, where an infinite x cancels, and in the sign of a zero",
)
def like_terms_in_sum(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """a*x + y + b*x -> (a + b)*x + y, for constants a and b.

    A term of floats whose factors cancel goes only where another term stays: x - x is NaN where x is infinite.
    """
    out = node.outputs[0]
    dtype = out.dtype
    if kind_of(out) not in "iuf" or not _may_repeat(node) or is_inner(fgraph, node, SUM_SIGNS):
        return None
    tree = tree_of(fgraph, node, SUM_SIGNS)
    groups: dict[TensorVariable, list[tuple[int, float]]] = {}
    for i, leaf in enumerate(tree.leaves):
        base, factor = _scaled(leaf, dtype)
        if not isinstance(base, Constant):
            groups.setdefault(base, []).append((i, factor * leaf.sign))
    repeated = [(base, terms) for base, terms in groups.items() if len(terms) > 1]
    if not repeated:
        return None
    exact = kind_of(out) != "f"
    changes = _collected(tree, repeated, dtype, exact)
    if changes is None:
        return None
    gone = [base for base, terms in repeated if all(changes[i] is None for i, _ in terms)]
    if not exact and len(gone) == len(groups):
        return None
    rebuilt = tree.rebuilt(changes, _combined_sum)
    if rebuilt is None:
        rebuilt = constant(np.zeros((), dtype))
    return broadcast_like(fgraph, out, rebuilt, [tree.leaves[i].var for i in changes])


def _collected(
    tree: Tree, repeated: Sequence[tuple[TensorVariable, Sequence[tuple[int, float]]]], dtype: str, exact: bool
) -> dict[int, Part] | None:
    """Return what becomes of the leaves of repeated terms; None if a factor is not finite."""
    changes: dict[int, Part] = {}
    for base, terms in repeated:
        total = sum(factor for _, factor in terms)
        if exact:
            total = wrapped(int(total), dtype)
        elif not math.isfinite(float(np.dtype(dtype).type(total))):
            return None
        changes.update(dict.fromkeys((i for i, _ in terms), None))
        if total != 0:
            wanted = 1 if total > 0 else -1
            at = next((i for i, _ in terms if tree.leaves[i].sign == wanted), terms[0][0])
            changes[at] = _multiple(base, total * tree.leaves[at].sign, dtype)
    return changes


# Products


def _combined_product(node: TensorNode, parts: Sequence[Part]) -> Part:
    """Return a node of a product computed from parts, None standing for one."""
    if len(parts) == 1:
        if applies(node, neg):
            return neg(parts[0]) if parts[0] is not None else constant(-np.ones((), node.outputs[0].dtype))
        return None if parts[0] is None else reciprocal(parts[0])
    a, b = parts
    if b is None:
        return a
    if a is None:
        return b if applies(node, mul) else reciprocal(b)
    return mul(a, b) if applies(node, mul) else true_div(a, b)


def _ratio(tree: Tree, numbers: Sequence[int]) -> tuple[float, float] | None:
    """Return the product of constant factors above and that of those below; None if they are not moderate."""
    above = below = 1.0
    for i in numbers:
        value = float(_number(tree.leaves[i]))
        if not _is_moderate(value) or (value == 0 and tree.leaves[i].sign < 0):
            return None
        if tree.leaves[i].sign > 0:
            above *= value
        else:
            below *= value
    return (above, below) if _is_moderate(above, below) and below != 0 else None


@RULES.rule(
    EARLY_AND_LATE,
    mul,
    true_div,
    neg,
    reciprocal,
    tags=BOTH,
    needs_graph=True,
    below=PRODUCTS,
    differs="where x * a leaves the range",
)
def constants_in_product(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(x * a) / b -> x * (a / b), for constants a and b, and so for integers in any product.

    Constants of floats are gathered if they lie between 2**-64 and 2**64, and nothing but constants stands between
    them; not in half precision, where their product may be out of range. Integers are only multiplied.
    """
    out = node.outputs[0]
    dtype = out.dtype
    if kind_of(out) not in "iuf" or dtype == "float16":
        return None
    joins = _scales if kind_of(out) == "f" else _always
    if not joins(node) or is_inner(fgraph, node, PRODUCT_SIGNS, joins):
        return None
    tree = tree_of(fgraph, node, PRODUCT_SIGNS, joins)
    numbers = [i for i, leaf in enumerate(tree.leaves) if _number(leaf) is not None]
    if len(numbers) < 2 or len(numbers) == len(tree.leaves):
        return None
    at = next((i for i in numbers if tree.leaves[i].sign > 0), numbers[0])
    value: Any
    if kind_of(out) == "f":
        ratio = _ratio(tree, numbers)
        if ratio is None:
            return None
        value = ratio[0] / ratio[1] if tree.leaves[at].sign > 0 else ratio[1] / ratio[0]
    else:
        value = wrapped(math.prod(int(_number(tree.leaves[i])) for i in numbers), dtype)
    changes: dict[int, Part] = dict.fromkeys(numbers)
    if value != 1:
        changes[at] = constant(value, dtype=dtype)
    rebuilt = tree.rebuilt(changes, _combined_product)
    return None if rebuilt is None else broadcast_like(fgraph, out, rebuilt, [tree.leaves[i].var for i in numbers])


def base_and_exponent(var: TensorVariable) -> tuple[TensorVariable, float]:
    """Return what a factor is a power of, and the constant exponent."""
    node = var.owner
    function = function_of(node)
    if node is None or function is None or not _is_power(node) or node.inputs[0].dtype != var.dtype:
        return var, 1
    if function.exponent is not None:
        return node.inputs[0], function.exponent
    exponent = constant_value(node.inputs[1])
    kind = node.inputs[1].type
    if exponent is None or not math.isfinite(exponent) or any(n != 1 for n in kind.shape):
        return var, 1
    return node.inputs[0], exponent


def _is_power(node: TensorNode | None) -> bool:
    """Whether a node is a power, of any exponent."""
    function = function_of(node)
    return function is not None and (function is power.scalar_op or function.exponent is not None)


def _power(base: TensorVariable, exponent: float) -> TensorVariable:
    if exponent == 1:
        return base
    function = {2: sqr, -1: reciprocal, 0.5: sqrt}.get(exponent)
    return function(base) if function is not None else power(base, constant(exponent, dtype=base.dtype))


def _cancelled(tree: Tree) -> tuple[dict[int, Part], int]:
    """Return what becomes of factors that occur above and below, and how many factors are left."""
    dtype = ""
    groups: dict[TensorVariable, list[tuple[int, float]]] = {}
    for i, leaf in enumerate(tree.leaves):
        dtype = dtype or leaf.var.dtype
        base, exponent = base_and_exponent(leaf.var)
        groups.setdefault(base, []).append((i, exponent * leaf.sign))
    changes: dict[int, Part] = {}
    left = len(groups)
    for base, factors in groups.items():
        exponents = [e for _, e in factors]
        total = sum(exponents)
        if isinstance(base, Constant) or not min(exponents) < 0 < max(exponents) or not _keeps_domain(exponents, total):
            left -= isinstance(base, Constant)
            continue
        changes.update(dict.fromkeys((i for i, _ in factors), None))
        if total == 0:
            left -= 1
            continue
        wanted = 1 if total > 0 else -1
        at = next((i for i, _ in factors if tree.leaves[i].sign == wanted), factors[0][0])
        changes[at] = _power(base, total * tree.leaves[at].sign)
    return changes, left


def _keeps_domain(exponents: Sequence[float], total: float) -> bool:
    """Whether a product of powers is defined for the same signs of the base as the power of their sum."""
    return all(float(e).is_integer() for e in exponents) or not float(total).is_integer()


@RULES.rule(
    Phase.CANONICALIZE,
    mul,
    true_div,
    neg,
    reciprocal,
    tags=BOTH,
    needs_graph=True,
    below=(*PRODUCTS, *POWERS),
    differs="where y is 0, infinite or NaN, and where a partial product leaves the range",
)
def common_factors(fgraph: FunctionGraph, node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(x * y) / y -> x, and x * y**a / y**b -> x * y**(a - b), for floats.

    So it is where y is 0, infinite or NaN too. A quotient of which nothing else would be left stays: x / x is NaN
    there.
    """
    out = node.outputs[0]
    dtype = out.dtype
    if kind_of(out) != "f" or is_inner(fgraph, node, PRODUCT_SIGNS):
        return None
    tree = tree_of(fgraph, node, PRODUCT_SIGNS)
    above = {leaf.var for leaf in tree.leaves if leaf.sign > 0}
    below = [leaf.var for leaf in tree.leaves if leaf.sign < 0]
    if above.isdisjoint(below) and not any(_is_power(leaf.var.owner) for leaf in tree.leaves):
        return None
    changes, left = _cancelled(tree)
    if not changes or left == 0 or any(tree.leaves[i].var.dtype != dtype for i in changes):
        return None
    rebuilt = tree.rebuilt(changes, _combined_product)
    return None if rebuilt is None else broadcast_like(fgraph, out, rebuilt, [tree.leaves[i].var for i in changes])
