"""Rules for matrix products: cheaper forms, the best order of a chain, and BLAS's product with accumulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import add, mul, neg, sub
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.products.product import Gemm, MatMul
from treadle.tensor.reductions.reduction import Reduction
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE
from treadle.tensor.rewrites.analysis.predicates import (
    applies,
    constant_value,
    filling,
    function_of,
    is_used_once,
    kind_of,
    made_by,
    never_shrinks,
)
from treadle.tensor.rewrites.analysis.replacements import alloc_like, as_scalar, credited, if_fits, with_operand
from treadle.tensor.shape_inference.symbolic_shapes import SymbolicShapes, shapes_of
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.dimshuffle import NEW, DimShuffle, dimshuffle
from treadle.tensor.shapes.shape import Reshape, lengths
from treadle.tensor.types.conversion import constant, tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

RULES = RuleSet("product", features=(SymbolicShapes,))
# Chains of more factors than this are left in the order in which they are written: finding the best takes their cube.
MOST_FACTORS = 24


@RULES.rule(EARLY_AND_LATE, MatMul, tags=(*BOTH, "local_dot_to_mul"), depth=1, needs_graph=True)
def product_over_length_one(fgraph: FunctionGraph, node: NodeOf[MatMul]) -> TensorVariable | None:
    """matmul(column, row) -> column * row, where that is no factor of another product: then the order matters more."""
    a, b = node.inputs
    # An inner length that only one of the two is known to have stays an error if the other differs.
    if a.type.shape[-1] != 1 or b.type.shape[-2] != 1 or _is_inside_chain(fgraph, node):
        return None
    dtype = node.outputs[0].dtype
    return if_fits(node, mul(cast(a, dtype), cast(b, dtype)))


@RULES.rule(EARLY_AND_LATE, MatMul, tags=(*BOTH, "local_0_dot_x"), needs_graph=True, below=(Alloc,))
def product_of_uniform(fgraph: FunctionGraph, node: NodeOf[MatMul]) -> TensorVariable | None:
    """matmul(filled with c, b) -> the sums of the columns of c * b, repeated; and so for the other factor."""
    out = node.outputs[0].type
    if out.ndim != 2 or out.dtype == "bool":
        return None
    for at in (0, 1):
        value = filling(node.inputs[at])
        if value is None or made_by(node.inputs[at], Alloc) is None:
            continue
        other = cast(node.inputs[1 - at], out.dtype)
        # Half precision is added in single.
        acc = "float32" if out.dtype == "float16" else out.dtype
        scaled = mul(cast(value, out.dtype), other)
        totals = Reduction("sum", (at,), out.dtype, acc)(scaled)
        shapes = shapes_of(fgraph)
        if shapes.of(node.inputs[0])[1] != shapes.of(node.inputs[1])[0]:
            return None
        return alloc_like(fgraph, node, dimshuffle(totals, *((NEW, 0) if at == 0 else (0, NEW))))
    return None


@RULES.rule(EARLY_AND_LATE, MatMul, tags=(*BOTH, "local_0_dot_x"), depth=1, needs_graph=True)
def product_over_nothing(fgraph: FunctionGraph, node: NodeOf[MatMul]) -> TensorVariable | None:
    """matmul(a, b) over an inner length of 0 -> zeros."""
    shapes = shapes_of(fgraph)
    if shapes.value(shapes.of(node.inputs[0])[-1]) != 0 or shapes.value(shapes.of(node.inputs[1])[-2]) != 0:
        return None
    return alloc_like(fgraph, node, constant(0, dtype=node.outputs[0].dtype))


@RULES.rule(
    EARLY_AND_LATE,
    MatMul,
    tags=(*BOTH, "local_dot22_to_dot22scalar"),
    needs_graph=True,
    differs="where c * a overflows, and in the sign of a zero",
    below=(Elemwise,),
)
def product_of_scaled(fgraph: FunctionGraph, node: NodeOf[MatMul]) -> TensorVariable | None:
    """matmul(c * a, b) -> c * matmul(a, b), for a finite number c; matmul(-a, b) -> -matmul(a, b).

    Of floats only for a c that makes nothing smaller, and not in half precision: as for sums.
    """
    out = node.outputs[0].type
    if out.dtype == "bool" or any(x.type.dtype != out.dtype for x in node.inputs):
        return None
    for at in (0, 1):
        var = node.inputs[at]
        scaled = _scaled(var)
        if scaled is None or not is_used_once(fgraph, var):
            continue
        inner, place = scaled
        x = inner.inputs[place]
        if x.dtype != out.dtype:
            continue
        product = MatMul()(*(x if i == at else y for i, y in enumerate(node.inputs)))
        numbers = [*inner.inputs[:place], *inner.inputs[place + 1 :]]
        return if_fits(node, with_operand(inner, place, product, numbers))
    return None


def _scaled(var: TensorVariable) -> tuple[NodeOf[Elemwise], int] | None:
    """Return the node that only scales a tensor, by finite numbers, and the tensor's place among its operands."""
    node = made_by(var, Elemwise)
    function = function_of(node)
    if node is None or function is None:
        return None
    for at in reversed(function.linear):
        x = node.inputs[at]
        others = [*node.inputs[:at], *node.inputs[at + 1 :]]
        if not all(map(_is_finite_number, others)):
            continue
        if kind_of(var) in "iu" or never_shrinks(function, at, [constant_value(c) for c in others], var.dtype):
            # Numbers that could not be made one, since that would be infinite, stay where they are.
            below = x.owner if others and x.owner is not None and x.owner.op == node.op else None
            return None if below is not None and any(map(_is_finite_number, below.inputs)) else (node, at)
    return None


def _is_finite_number(var: TensorVariable) -> bool:
    """Whether a tensor of one element is known, finite and not 0."""
    value = constant_value(var) if all(n == 1 for n in var.type.shape) else None
    return value is not None and value != 0 and bool(np.isfinite(value))


# Stacks


@RULES.rule(
    EARLY_AND_LATE,
    MatMul,
    tags=(*BOTH, "local_batched_matmul_to_core_matmul", "local_batched_matmul_to_core_matmul_with_reshape"),
)
def stack_times_one_matrix(node: NodeOf[MatMul]) -> TensorVariable | None:
    """matmul(stack of a, one b) -> one product: the stack's matrices lie below one another."""
    a = node.inputs[0]
    b = node.inputs[1]
    ndim = a.type.ndim
    if ndim == 2 or any(n != 1 for n in b.type.shape[:-2]):
        return None
    right = dimshuffle(b, ndim - 2, ndim - 1)
    if all(n == 1 for n in a.type.shape[:-2]):
        product = MatMul()(dimshuffle(a, ndim - 2, ndim - 1), right)
        return if_fits(node, dimshuffle(product, *[NEW] * (ndim - 2), 0, 1))
    if not _lies_in_order(a):
        return None
    # Without elements, the number of rows cannot be found from the others: it is computed.
    *stack, rows, inner = lengths(a)
    count: Any = rows
    for n in stack:
        count = mul(n, count)
    below = Reshape(2)(a, count, inner)
    columns = lengths(b)[-1]
    return if_fits(node, Reshape(ndim)(MatMul()(below, right), *stack, rows, columns))


@RULES.rule(EARLY_AND_LATE, MatMul, tags=(*BOTH, "local_batched_matmul_to_core_matmul"), depth=1)
def one_matrix_times_stack_of_columns(node: NodeOf[MatMul]) -> TensorVariable | None:
    """matmul(one a, stack of columns) -> one product: the stack's columns lie beside one another, as rows."""
    a, b = node.inputs
    if a.type.ndim != 3 or a.type.shape[0] != 1 or b.type.shape[2] != 1 or b.type.shape[0] == 1:
        return None
    product = MatMul()(dimshuffle(b, 0, 1), dimshuffle(a, 2, 1))
    return if_fits(node, dimshuffle(product, 0, 1, NEW))


def _lies_in_order(a: TensorVariable) -> bool:
    """Whether a stack is likely to lie in memory in order: reshaping a transposed one copies it."""
    inner = made_by(a, DimShuffle)
    op: Any = None if inner is None else inner.op
    return op is None or [d for d in op.order if d != NEW] == sorted(d for d in op.order if d != NEW)


@RULES.rule(EARLY_AND_LATE, MatMul, tags=(*BOTH, "local_batched_matmul_to_core_matmul"), depth=1)
def stack_of_one(node: NodeOf[MatMul]) -> TensorVariable | None:
    """Matmul of stacks with a dimension of length 1 in both -> of stacks without it."""
    a = node.inputs[0]
    b = node.inputs[1]
    ndim = a.type.ndim
    unit = [d for d in range(ndim - 2) if a.type.shape[d] == 1 and b.type.shape[d] == 1]
    if not unit:
        return None
    kept = [d for d in range(ndim) if d not in unit]
    product = MatMul()(dimshuffle(a, *kept), dimshuffle(b, *kept))
    return if_fits(node, dimshuffle(product, *(NEW if d in unit else kept.index(d) for d in range(ndim))))


# Chains


@RULES.rule(
    EARLY_AND_LATE,
    MatMul,
    tags=BOTH,
    needs_graph=True,
    below=(MatMul,),
    differs="where the product of some of the factors leaves the range",
)
def chain_of_products(fgraph: FunctionGraph, node: NodeOf[MatMul]) -> TensorVariable | None:
    """matmul(matmul(a, b), c) -> matmul(a, matmul(b, c)), and so for longer chains, where that takes less work.

    Not in half precision, which products of some of the factors leave too easily.
    """
    out = node.outputs[0].type
    if _is_inside_chain(fgraph, node) or out.dtype == "float16":
        return None
    factors, written = _collected(fgraph, node)
    if len(factors) < 3 or len({x.type.dtype for x in factors}) > 1:
        return None
    # Stacks that are broadcast decide too what a product costs.
    if len({_is_one_matrix(x) for x in factors}) > 1:
        return None
    lengths = [factors[0].type.shape[-2], *(x.type.shape[-1] for x in factors)]
    sizes = [n for n in lengths if n is not None]
    if len(sizes) < len(lengths):
        order = _towards_vector(lengths)
    else:
        cost, order = _best_order(sizes)
        if cost >= sum(sizes[i] * sizes[k] * sizes[j] for i, k, j in written):
            return None
    return (
        None if order is None or order == sorted(written, key=_length) else if_fits(node, _multiplied(factors, order))
    )


# A step of a chain of products: factors from the first number to the second, times those from there to the third.
_Step = tuple[int, int, int]


def _length(step: _Step) -> tuple[int, int]:
    return step[2] - step[0], step[0]


def _is_inside_chain(fgraph: FunctionGraph, node: TensorNode) -> bool:
    """Whether a product is a factor of another one, and used only there: then that one decides."""
    clients = fgraph.clients[node.outputs[0]]
    return len(clients) == 1 and isinstance(clients[0][0].op, MatMul)


def _collected(fgraph: FunctionGraph, root: TensorNode) -> tuple[list[TensorVariable], list[_Step]]:
    """Return the factors of a chain of products of matrices or stacks, and the steps in which they are multiplied."""
    factors: list[TensorVariable] = []
    steps: list[_Step] = []
    ranges: list[tuple[int, int]] = []
    stack: list[tuple[TensorVariable, bool]] = [(root.outputs[0], False)]
    nodes = 0
    while stack:
        var, is_done = stack.pop()
        if is_done:
            right, left = ranges.pop(), ranges.pop()
            steps.append((left[0], left[1], right[1]))
            ranges.append((left[0], right[1]))
            continue
        node = made_by(var, MatMul)
        opened = node is not None and (node is root or is_used_once(fgraph, var))
        if node is None or not opened or nodes >= MOST_FACTORS - 1:
            ranges.append((len(factors), len(factors) + 1))
            factors.append(var)
            continue
        nodes += 1
        stack += [(var, True), (node.inputs[1], False), (node.inputs[0], False)]
    return factors, steps


def _is_one_matrix(x: TensorVariable) -> tuple[bool, ...]:
    """Return along which dimensions of a stack there is one matrix only, as far as is known."""
    return tuple(n == 1 for n in x.type.shape[:-2])


def _towards_vector(sizes: Sequence[int | None]) -> list[_Step] | None:
    """Return the steps that multiply matrices only where a product of a column and a row is one; sizes are unknown."""
    n = len(sizes) - 1
    if sizes[0] == 1 == sizes[-1]:
        return None
    inner = [i for i in range(1, n) if sizes[i] == 1]
    # A chain around a length of 1 is a column on its left, times a row on its right.
    ones = inner[:1] or [i for i in (0, n) if sizes[i] == 1]
    if not ones:
        return None
    (at,) = ones
    left = [(i, i + 1, at) for i in range(at - 1)]
    right = [(at, j - 1, j) for j in range(at + 2, n + 1)]
    return sorted([*left, *right, *([(0, at, n)] if inner else [])], key=_length)


def _best_order(sizes: Sequence[int]) -> tuple[int, list[_Step]]:
    """Return how many multiplications a chain needs at best, and its steps (dynamic programming over its pieces)."""
    n = len(sizes) - 1
    cost = {(i, i + 1): 0 for i in range(n)}
    split: dict[tuple[int, int], int] = {}
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length
            each = {k: cost[i, k] + cost[k, j] + sizes[i] * sizes[k] * sizes[j] for k in range(i + 1, j)}
            split[i, j] = best = min(each, key=each.__getitem__)
            cost[i, j] = each[best]
    steps: list[_Step] = []
    pieces = [(0, n)]
    while pieces:
        i, j = pieces.pop()
        if j - i > 1:
            k = split[i, j]
            steps.append((i, k, j))
            pieces += [(i, k), (k, j)]
    return cost[0, n], sorted(steps, key=_length)


def _multiplied(factors: Sequence[TensorVariable], steps: Sequence[_Step]) -> TensorVariable:
    """Return factors multiplied in steps, each of which comes after those that it needs."""
    products = {(i, i + 1): x for i, x in enumerate(factors)}
    for i, k, j in steps:
        products[i, j] = MatMul()(products[i, k], products[k, j])
    return products[0, len(factors)]


# BLAS


@RULES.graph_pass(
    Phase.UNCANONICALIZE,
    tags=("fast_run", "BlasOpt", "gemm_optimizer", "local_dot_to_dot22", "local_gemm_to_gemv", "use_c_blas"),
    needs=(MatMul,),
    differs="where alpha * a or alpha * b, which BLAS may compute, leaves the range",
)
def accumulated_product(fgraph: FunctionGraph) -> int:
    """Beta * c + alpha * matmul(a, b) -> gemm(c, alpha, a, b, beta), where the sum is used by nothing elementwise."""
    count = 0
    for node in reversed(fgraph.toposort()):
        replacement = _gemm(fgraph, node) if applies(node, add, sub) and node in fgraph else None
        if replacement is not None:
            credited(fgraph, replacement, node)
            fgraph.replace(node.outputs[0], replacement, "accumulated_product")
            count += 1
    return count


def _gemm(fgraph: FunctionGraph, node: Apply) -> TensorVariable | None:
    """Return the accumulated product that a sum or difference is, or None."""
    is_sum = applies(node, add)
    operands = tensors(node.inputs)
    out = tensors(node.outputs)[0].type
    if out.dtype not in {"float32", "float64"} or out.ndim not in {1, 2}:
        return None
    # An elementwise client computes the sum on its way: nothing is saved then.
    if any(isinstance(client.op, Elemwise) for client, _ in fgraph.clients[node.outputs[0]] if client.outputs):
        return None
    for at in (1, 0):
        term, other = operands[at], operands[1 - at]
        if any(x.type.dtype != out.dtype for x in (term, other)):
            continue
        product = _term(fgraph, term, 1.0 if is_sum or at == 0 else -1.0)
        # A row or column that is added to each of the product's costs nothing as part of what is computed elementwise.
        if product is None or [n == 1 for n in term.type.shape] != [n == 1 for n in other.type.shape]:
            continue
        alpha, inner = product
        a, b = inner.inputs
        if any(x.type.dtype != out.dtype for x in (a, b)):
            continue
        sign = -1.0 if not is_sum and at == 0 else 1.0
        return if_fits(node, _accumulated(other, alpha, a, b, constant(sign, dtype=out.dtype), term))
    return None


def _term(fgraph: FunctionGraph, var: TensorVariable, sign: float) -> tuple[Any, TensorNode] | None:
    """Return the number and the product of matrices that a term is the product of; every step used only once."""
    kind = var.type
    alpha: Any = constant(sign, dtype=kind.dtype)
    for _ in range(_MOST_STEPS):
        node = var.owner
        if node is None or not is_used_once(fgraph, var):
            return None
        if isinstance(node.op, MatMul):
            return (alpha, node) if getattr(node.outputs[0].type, "ndim", 0) == 2 else None
        if applies(node, neg):
            factor, var = _times(constant(-1.0, dtype=kind.dtype), alpha), node.inputs[0]
        elif applies(node, mul):
            at = next((i for i, x in enumerate(node.inputs) if all(n == 1 for n in x.type.shape)), None)
            if at is None or node.inputs[at].type.dtype != kind.dtype:
                return None
            factor, var = _times(as_scalar(node.inputs[at]), alpha), node.inputs[1 - at]
        elif (shuffle := made_by(var, DimShuffle)) is not None and _drops_only(shuffle):
            factor, var = alpha, node.inputs[0]
        else:
            return None
        if factor is None:
            return None
        alpha = factor
    return None


def _times(a: TensorVariable, b: TensorVariable) -> TensorVariable | None:
    """Return the product of two scalars, None where it may leave the range: no rule will fold constants any more."""
    x, y = constant_value(a), constant_value(b)
    if x is not None and y is not None:
        with np.errstate(all="ignore"):
            product = np.asarray(x, a.dtype) * np.asarray(y, a.dtype)
        in_range = np.isfinite(product) and abs(product) >= np.finfo(product.dtype).smallest_normal
        return constant(product) if in_range else None
    if y == 1:
        return a
    return mul(a, b) if -1 in {x, y} else None


# A term is looked through for its product so many steps deep.
_MOST_STEPS = 6


def _drops_only(node: NodeOf[DimShuffle]) -> bool:
    """Whether a dimshuffle makes a vector of a matrix of one row or column."""
    op = node.op
    return op.ndim == 2 and len(op.order) == 1 and op.order[0] != NEW


def _accumulated(
    c: TensorVariable,
    alpha: TensorVariable,
    a: TensorVariable,
    b: TensorVariable,
    beta: TensorVariable,
    term: TensorVariable,
) -> TensorVariable:
    """Return the accumulated product, of vectors as of matrices of one row or column."""
    if term.ndim == 2:
        return Gemm()(c, alpha, a, b, beta)
    is_row = a.type.shape[0] == 1
    result = Gemm()(dimshuffle(c, *((NEW, 0) if is_row else (0, NEW))), alpha, a, b, beta)
    return dimshuffle(result, 1 if is_row else 0)
