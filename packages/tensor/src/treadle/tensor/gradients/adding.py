"""Sums and zeros of gradients, of whatever type: those of tensors, and those that other types define."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import NullType
from treadle.tensor.elementwise.arithmetic import add
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from treadle.graph import Variable


def summed(old: Variable | None, new: Variable) -> Variable:
    """Return the sum of two gradients of one variable, the first of which may not be there yet."""
    if old is None:
        return new
    if isinstance(old.type, NullType):
        return old
    if isinstance(new.type, NullType):
        return new
    are_tensors = isinstance(old.type, TensorType) and isinstance(new.type, TensorType)
    if are_tensors or not hasattr(type(old), "__add__"):
        return add(old, new)
    # Gradients of other types, such as sparse matrices, add up by their own operator.
    total: Variable = old + new  # type: ignore[operator]  # that of their class
    return total


def zeros_of(var: Variable) -> Variable:
    """Return zeros like a variable: those of its method ``zeros_like`` where it is no tensor and has one."""
    own = None if isinstance(var.type, TensorType) else getattr(var, "zeros_like", None)
    zeros: Variable = zeros_like(var) if own is None else own()
    return zeros
