"""What rules over tensors are written with: patterns with operators, values of constants, conditions on dtypes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from treadle.graph import Constant
from treadle.rewrite import Pattern
from treadle.tensor.dimshuffle import DimShuffle
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.operators import Operators
from treadle.tensor.reduction import Reduction
from treadle.tensor.scalar_op import ScalarOp
from treadle.tensor.shape import ShapeI

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.graph import Apply, Op, Variable

# Larger constants are not searched for one value that all their elements have.
MOST_ELEMENTS = 64


class TensorPattern(Pattern, Operators):
    """A hole in a tensor expression, with Python's operators."""


def is_commutative(op: Op) -> bool:
    """Whether an op's scalar op says that its operands may be exchanged."""
    return isinstance(op, Elemwise) and isinstance(op.scalar_op, ScalarOp) and op.scalar_op.commutative


def scalar_name(node: Apply | None) -> str | None:
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


def never_shrinks(scale: Any, dtype: str, divides: bool = False) -> bool:
    """Whether a float that scales each term of a sum may scale the sum instead, whatever the terms are.

    It may where the sum of the terms as they are stays in range if that of the scaled ones does. Half precision is left
    alone: there is no room in it.
    """
    if isinstance(scale, complex) or dtype == "float16" or not math.isfinite(scale):
        return False
    return bool(0 < abs(scale) <= 1 if divides else abs(scale) >= 1)


# Functions whose result is 0 or more, never a negative zero, or NaN.
_NONNEGATIVE_ROWS = frozenset({"exp", "exp2", "sqr", "abs", "sigmoid", "softplus", "cosh", "arccosh", "arccos"})
# Functions that are 0 or more if all their operands are.
_KEEPING_SIGN = frozenset(
    {
        "add",
        "mul",
        "true_div",
        "maximum",
        "minimum",
        "floor",
        "ceil",
        "trunc",
        "identity",
        "reciprocal",
        "log1p",
        "sinh",
        "sqrt",
    }
)


def is_nonnegative(var: Variable, depth: int = 3) -> bool:
    """Whether no element of a tensor is below 0, or a negative zero, for certain; it may be NaN.

    Decided by its dtype, its value, or the functions that it comes from, to a depth that is bounded.
    """
    kind: Any = var.type
    if getattr(kind, "numpy_dtype", None) is None or kind.numpy_dtype.kind == "c":
        return False
    if kind.numpy_dtype.kind in "bu":
        return True
    value = constant_value(var)
    if value is not None or var.owner is None:
        # A negative zero would make a quotient minus infinity.
        return value is not None and value >= 0 and math.copysign(1, value) > 0
    node = var.owner
    if isinstance(node.op, ShapeI):
        return True
    if isinstance(node.op, DimShuffle):
        return is_nonnegative(node.inputs[0], depth)
    if isinstance(node.op, Reduction):
        return (
            depth > 0 and kind_of(var) == "f" == kind_of(node.inputs[0]) and is_nonnegative(node.inputs[0], depth - 1)
        )
    name = scalar_name(node)
    if name is None or any(kind_of(x) != kind_of(var) for x in node.inputs):
        return False
    if kind.numpy_dtype.kind == "i":
        # Integers wrap around: only what picks an operand is sure.
        return depth > 0 and name in {"maximum", "minimum", "identity"} and _all_or_any(node, name, depth)
    if name in _NONNEGATIVE_ROWS:
        return True
    return depth > 0 and name in _KEEPING_SIGN and _all_or_any(node, name, depth)


def _all_or_any(node: Apply, name: str, depth: int) -> bool:
    """Whether the operands of a function that keeps signs make it nonnegative."""
    each = (is_nonnegative(x, depth - 1) for x in node.inputs)
    return any(each) if name == "maximum" else all(each)


def is_real(node: Apply, match: Mapping[str, Variable]) -> bool:
    """Whether the result and everything matched are floats of one dtype."""
    kind: Any = node.outputs[0].type
    return kind.numpy_dtype.kind == "f" and all(_dtype(x) == kind.dtype for x in match.values())


def keeps_dtype(node: Apply, match: Mapping[str, Variable]) -> bool:
    """Whether everything matched has the result's dtype."""
    kind: Any = node.outputs[0].type
    return all(_dtype(x) == kind.dtype for x in match.values())


def keeps_real_dtype(node: Apply, match: Mapping[str, Variable]) -> bool:
    """Whether everything matched has the result's dtype, which is not complex."""
    return kind_of(node.outputs[0]) != "c" and keeps_dtype(node, match)


def is_integer(node: Apply, match: Mapping[str, Variable]) -> bool:
    """Whether the result is an integer and has the dtype of everything matched."""
    kind: Any = node.outputs[0].type
    return kind.numpy_dtype.kind in "iu" and all(_dtype(x) == kind.dtype for x in match.values())


def is_not_complex(node: Apply, match: Mapping[str, Variable]) -> bool:
    """Whether nothing is complex."""
    return kind_of(node.outputs[0]) != "c" and all(kind_of(x) != "c" for x in match.values())


def is_number(node: Apply, match: Mapping[str, Variable]) -> bool:
    """Whether nothing matched is complex or bool."""
    del node
    return all(kind_of(x) in "iuf" for x in match.values())


def is_signed(node: Apply, match: Mapping[str, Variable]) -> bool:
    """Whether everything matched is a float or a signed integer."""
    del node
    return all(kind_of(x) in "if" for x in match.values())


def _dtype(var: Variable) -> str:
    kind: Any = var.type
    return str(getattr(kind, "dtype", ""))
