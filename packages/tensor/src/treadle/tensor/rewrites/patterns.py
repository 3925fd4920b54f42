"""What rules over tensors are written with: patterns with operators, values of constants, conditions on dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Constant
from treadle.rewrite import Pattern
from treadle.tensor.dimshuffle import DimShuffle
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.operators import Operators
from treadle.tensor.row import ScalarOp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.graph import Apply, Op, Variable

# Larger constants are not searched for one value that all their elements have.
MOST_ELEMENTS = 64


class TensorPattern(Pattern, Operators):
    """A hole in a tensor expression, with Python's operators."""


def is_commutative(op: Op) -> bool:
    """Whether an op's row says that its operands may be exchanged."""
    return isinstance(op, Elemwise) and isinstance(op.scalar_op, ScalarOp) and op.scalar_op.commutative


def row_name(node: Apply | None) -> str | None:
    """Return the name of the elementwise function that a node applies, or None."""
    if node is None or not isinstance(node.op, Elemwise) or not isinstance(node.op.scalar_op, ScalarOp):
        return None
    return node.op.scalar_op.name


def constant_value(var: Variable) -> Any:
    """Return the number that every element of a constant has, or None; dimshuffles of constants are seen through."""
    while var.owner is not None:
        if not isinstance(var.owner.op, DimShuffle):
            return None
        var = var.owner.inputs[0]
    if not isinstance(var, Constant):
        return None
    data = var.data
    if data.size == 1:
        return data.item()
    if not 0 < data.size <= MOST_ELEMENTS:
        return None
    first = data.flat[0]
    # The bits are compared: zeros of both signs are not one number.
    return first.item() if data.tobytes() == first.tobytes() * data.size else None


def kind_of(var: Variable) -> str:
    """Return the kind of a tensor's dtype: b, i, u, f or c."""
    kind: Any = var.type
    return str(kind.numpy_dtype.kind)


def is_real(node: Apply, match: Mapping[str, Variable]) -> bool:
    """Whether the result and everything matched are floats of one dtype."""
    kind: Any = node.outputs[0].type
    return kind.numpy_dtype.kind == "f" and all(_dtype(x) == kind.dtype for x in match.values())


def keeps_dtype(node: Apply, match: Mapping[str, Variable]) -> bool:
    """Whether everything matched has the result's dtype."""
    kind: Any = node.outputs[0].type
    return all(_dtype(x) == kind.dtype for x in match.values())


def is_integer(node: Apply, match: Mapping[str, Variable]) -> bool:
    """Whether the result is an integer and has the dtype of everything matched."""
    kind: Any = node.outputs[0].type
    return kind.numpy_dtype.kind in "iu" and all(_dtype(x) == kind.dtype for x in match.values())


def is_not_complex(node: Apply, match: Mapping[str, Variable]) -> bool:
    """Whether nothing matched is complex or bool."""
    del node
    return all(kind_of(x) in "iuf" for x in match.values())


def _dtype(var: Variable) -> str:
    kind: Any = var.type
    return str(getattr(kind, "dtype", ""))
