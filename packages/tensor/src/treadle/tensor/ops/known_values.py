"""Integers that are known when the graph is built: a shape given as an expression decides the type all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable

# The elements of a scalar or vector of integers, None where one is not known; None if nothing is known.
Known = list[int | None] | None
# Expressions of more nodes, and longer vectors, are not looked into.
_MOST_NODES = 24
_MOST_ELEMENTS = 64


def known_values(var: Variable) -> Known:
    """Return the elements of an integer scalar or vector as far as they are known when the graph is built.

    An op that can say what it makes of known integers has a method ``known_values(node, known)``, where `known` is a
    function like this one.
    """
    left = _MOST_NODES
    cache: dict[Variable, Known] = {}

    def known(at: Variable) -> Known:
        nonlocal left
        kind = at.type
        if not isinstance(kind, TensorType) or kind.ndim > 1 or kind.numpy_dtype.kind not in "iub":
            return None
        if isinstance(at, Constant):
            return at.data.ravel().tolist() if at.data.size <= _MOST_ELEMENTS else None
        if at in cache:
            return cache[at]
        left -= 1
        rule = None if at.owner is None else getattr(at.owner.op, "known_values", None)
        if left < 0 or rule is None:
            return None
        elements: Known = rule(at.owner, known)
        cache[at] = elements
        return elements

    return known(var)


def known_value(var: Variable) -> int | None:
    """Return the integer that a scalar is known to be, or None."""
    elements = known_values(var)
    return None if elements is None or len(elements) != 1 else elements[0]


def aligned(columns: Sequence[Known]) -> list[tuple[int | None, ...]] | None:
    """Return elements of scalars and vectors broadcast together, one tuple for each element of the result."""
    if any(values is None for values in columns):
        return None
    known = [values for values in columns if values is not None]
    size = next((len(values) for values in known if len(values) != 1), 1)
    if any(len(values) not in {1, size} for values in known):
        return None
    return list(zip(*(values * size if len(values) == 1 else values for values in known), strict=True))
