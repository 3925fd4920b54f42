"""What structural rules ask of nodes: how often a result is used, whether a replacement fits, what is one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Constant
from treadle.tensor.broadcasting import Alloc
from treadle.tensor.dimshuffle import DimShuffle
from treadle.tensor.types import TensorType

if TYPE_CHECKING:
    from treadle.graph import Apply, FunctionGraph, Op, Variable

BOTH = ("fast_run", "fast_compile")
# Larger constants are not searched for one number that all their elements are.
MOST_ELEMENTS = 4096


def is_used_once(fgraph: FunctionGraph, var: Variable) -> bool:
    """Whether a variable has one client only: what computes it may then be changed without computing it twice."""
    return len(fgraph.clients[var]) == 1


def made_by(var: Variable, *kinds: type[Op]) -> Apply | None:
    """Return the node that computes a variable, if its op is of one of the classes."""
    node = var.owner
    return node if node is not None and isinstance(node.op, kinds) else None


def fitting(node: Apply, made: Any) -> Variable | None:
    """Return a replacement of a node's output if its type equals or refines the output's."""
    return made if made is not None and node.outputs[0].type.is_super(made.type) else None


def credited(fgraph: FunctionGraph, made: Variable, node: Apply) -> list[Apply]:
    """Return the new nodes of a replacement, inner ones last; they come from the line of the node that is replaced."""
    fresh: list[Apply] = []
    seen: set[Apply] = set()
    stack = [made]
    while stack:
        new = stack.pop().owner
        if new is None or new in seen or new in fgraph:
            continue
        seen.add(new)
        new.user_line = node.user_line
        fresh.append(new)
        stack.extend(new.inputs)
    return fresh


def filling(var: Variable) -> Variable | None:
    """Return the scalar that a tensor holds in every element, where it is an alloc of one or a constant."""
    node = made_by(var, DimShuffle)
    while node is not None:
        var = node.inputs[0]
        node = made_by(var, DimShuffle)
    if isinstance(var, Constant):
        return _one_number(var)
    node = made_by(var, Alloc)
    if node is None:
        return None
    value: Any = node.inputs[0]
    if any(n != 1 for n in value.type.shape):
        return filling(value) if isinstance(value, Constant) else None
    return value if value.type.ndim == 0 else value.dimshuffle()  # type: ignore[no-any-return]  # a tensor variable


def _one_number(var: Constant) -> Variable | None:
    data = var.data
    if not 0 < data.size <= MOST_ELEMENTS or data.tobytes() != data.flat[0].tobytes() * data.size:
        return None
    kind: Any = var.type
    return TensorType(kind.dtype, ()).make_constant(np.array(data.flat[0]))


def is_zero(var: Variable) -> bool:
    """Whether a tensor is certain to hold nothing but zeros (of either sign)."""
    node = made_by(var, DimShuffle, Alloc)
    while node is not None:
        var = node.inputs[0]
        node = made_by(var, DimShuffle, Alloc)
    return isinstance(var, Constant) and var.data.size <= MOST_ELEMENTS and not var.data.any()
