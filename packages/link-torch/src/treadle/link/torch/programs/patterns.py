"""What makes a variable, asked for by name: for functions of PyTorch's own that stand for several nodes."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.graph import Constant, Variable
from treadle.link.torch.numbers import length_of, on_numbers
from treadle.tensor import CASTS, DimShuffle, Elemwise, TensorVariable, tensors


def made_by(x: Variable, name: str) -> Sequence[TensorVariable]:
    """Return the operands of the elementwise function of a name that makes a variable, none if another does."""
    node = x.owner
    op = None if node is None else node.op
    is_by = node is not None and isinstance(op, Elemwise) and getattr(op.scalar_op, "name", "") == name
    return tensors(node.inputs) if node is not None and is_by else ()


def number(x: TensorVariable) -> float | None:
    """Return a constant of one element."""
    return float(x.data.item()) if isinstance(x, Constant) and x.data.size == 1 else None


def both_orders(operands: Sequence[TensorVariable]) -> Sequence[Sequence[TensorVariable]]:
    """Return two operands in both orders, and nothing for others."""
    return (operands, operands[::-1]) if len(operands) == 2 else ()


def length_behind(x: TensorVariable) -> Variable | None:
    """Return the integer, computed from lengths alone, that a float with dimensions of length 1 is made of."""
    var: Variable = x
    is_float = False
    while (node := var.owner) is not None:
        if isinstance(node.op, DimShuffle) and node.op.ndim == 0:
            var = node.inputs[0]
        elif isinstance(node.op, Elemwise) and not is_float and node.op.scalar_op is CASTS[x.type.dtype].scalar_op:
            var, is_float = node.inputs[0], True
        else:
            break
    return var if is_float and var.owner is not None and _is_length(var) else None


def _is_length(var: Variable) -> bool:
    if isinstance(var, Constant):
        return getattr(var.type, "dtype", "").startswith("int") and var.type.ndim == 0
    node = var.owner
    if node is None:
        return False
    if length_of(node) is not None:
        return getattr(var.type, "ndim", 1) == 0
    return on_numbers(node) is not None and all(map(_is_length, node.inputs))
