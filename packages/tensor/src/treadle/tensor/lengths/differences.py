"""Differences of integer scalars that are the same whatever their inputs are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Constant
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.shapes.dimshuffle import DimShuffle
from treadle.tensor.shapes.shape import ShapeI
from treadle.tensor.types.conversion import tensors

if TYPE_CHECKING:
    from treadle.graph import Variable

# What is not looked into: a variable, by its identity, or the length of one of its dimensions.
Factor = tuple[int, int]
# A sum of products: how often each product occurs. A product is its factors, in order; that of none is 1.
Polynomial = dict[tuple[Factor, ...], int]

# Scalars made of more operations, and polynomials of more terms, are not looked into.
_MOST_STEPS = 64
_MOST_TERMS = 32


def constant_difference(a: Variable, b: Variable) -> int | None:
    """Return a - b where sums, differences and products of integers show that it is always the same, else None.

    It is that of integers of any size: the values themselves may wrap around.

    Examples
    --------
    >>> n = tt.lscalar("n")
    >>> tt.constant_difference(n + 3, n)
    3
    """
    budget = [_MOST_STEPS]
    total = _plus(_expanded(a, budget), _expanded(b, budget), -1)
    terms = {product: n for product, n in total.items() if n}
    return terms.get((), 0) if not terms.keys() - {()} else None


def _plus(p: Polynomial, q: Polynomial, sign: int) -> Polynomial:
    total = dict(p)
    for product, n in q.items():
        total[product] = total.get(product, 0) + sign * n
    return total


def _times(p: Polynomial, q: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for a, n in p.items():
        for b, m in q.items():
            product = tuple(sorted((*a, *b)))
            result[product] = result.get(product, 0) + n * m
    return result


def _single(var: Variable) -> Polynomial:
    node = var.owner
    if node is not None and isinstance(node.op, ShapeI):
        return {((id(node.inputs[0]), node.op.axis),): 1}
    return {((id(var), -1),): 1}


def _expanded(var: Variable, budget: list[int]) -> Polynomial:
    """Return a scalar as a polynomial of what it is made of."""
    budget[0] -= 1
    node = var.owner
    if isinstance(var, Constant):
        return {(): int(var.data.item())}
    if node is None or budget[0] < 0:
        return _single(var)
    if isinstance(node.op, DimShuffle):
        return _expanded(node.inputs[0], budget)
    name = node.op.scalar_op.name if isinstance(node.op, Elemwise) else ""
    if name.startswith("cast_") and tensors(node.inputs)[0].type.numpy_dtype.kind in "iu":
        return _expanded(node.inputs[0], budget)
    if name not in {"add", "sub", "mul", "neg"}:
        return _single(var)
    parts = [_expanded(x, budget) for x in node.inputs]
    if name == "neg":
        return _plus({}, parts[0], -1)
    a, b = parts
    if name != "mul":
        return _plus(a, b, 1 if name == "add" else -1)
    return _times(a, b) if len(a) * len(b) <= _MOST_TERMS else _single(var)
