"""What rules ask of nodes and values: which op, how often used, which number in every element, of which sign."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Constant, Op
from treadle.rewrite import OpPattern
from treadle.tensor.elementwise.cast import CASTS
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.scalar_op import SCALAR_OPS, ScalarOp
from treadle.tensor.rewrites.analysis.fact_rules import FactRules
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.dimshuffle import DimShuffle
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Generic, TypeGuard, TypeVar

    from treadle.graph import Apply, FunctionGraph, Variable
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

    OpClass = TypeVar("OpClass", bound=Op)

    class NodeOf(TensorNode, Generic[OpClass]):
        """For type checkers: a node on tensors whose op is of a class."""

        op: OpClass


# Larger constants are not searched for the one number that all their elements are: for a rule about numbers, and
# for one that saves work in proportion to the size.
MOST_NUMBERS, MOST_ELEMENTS = 64, 4096
_CASTS = frozenset(op.scalar_op for op in CASTS.values())


def is_used_once(fgraph: FunctionGraph, var: Variable) -> bool:
    """Whether a variable has one client only: what computes it may then be changed without computing it twice."""
    return len(fgraph.clients[var]) == 1


def made_by(var: TensorVariable, *kinds: type[OpClass]) -> NodeOf[OpClass] | None:
    """Return the node that computes a variable, if its op is of one of the classes."""
    node = var.owner
    return node if node is not None and isinstance(node.op, kinds) else None  # type: ignore[return-value]  # as looked at


def filling(var: TensorVariable) -> TensorVariable | None:
    """Return the scalar that a tensor holds in every element, where it is an alloc of one or a constant."""
    while (view := made_by(var, DimShuffle)) is not None:
        var = view.inputs[0]
    if isinstance(var, Constant):
        return _one_number(var)
    node = made_by(var, Alloc)
    if node is None:
        return None
    value = node.inputs[0]
    if any(n != 1 for n in value.type.shape):
        return filling(value) if isinstance(value, Constant) else None
    return value if value.type.ndim == 0 else value.dimshuffle()


def _one_number(var: Constant) -> TensorVariable | None:
    data = var.data
    if not 0 < data.size <= MOST_ELEMENTS or data.tobytes() != data.flat[0].tobytes() * data.size:
        return None
    return TensorType(data.dtype, ()).make_constant(np.array(data.flat[0]))


def is_zero(var: TensorVariable) -> bool:
    """Whether a tensor is certain to hold nothing but zeros (of either sign)."""
    while (node := made_by(var, DimShuffle, Alloc)) is not None:
        var = node.inputs[0]
    return isinstance(var, Constant) and var.data.size <= MOST_ELEMENTS and not var.data.any()


def function_of(node: Apply | None) -> ScalarOp | None:
    """Return the elementwise function that a node applies, whose traits rules ask for; None for other nodes."""
    if node is None:
        return None
    op = node.op
    # Asked for most of all: first whether it is of the class itself.
    if type(op) is not Elemwise and not isinstance(op, Elemwise):
        return None
    function = op.scalar_op
    return function if isinstance(function, ScalarOp) else None


def applies(node: Apply | None, *functions: Elemwise) -> TypeGuard[NodeOf[Elemwise]]:
    """Whether a node applies one of some elementwise functions: for laws about just these functions."""
    function = function_of(node)
    if function is not None:
        for f in functions:
            if function is f.scalar_op:
                return True
    return False


def with_trait(**traits: object) -> OpPattern:
    """Return the ops that apply an elementwise function with traits, as rules name ops."""
    return OpPattern(Elemwise, scalar_op=OpPattern(ScalarOp, traits))


def argument_of(function: Elemwise, var: TensorVariable) -> TensorVariable | None:
    """Return x if a tensor is f(x), for an elementwise function f."""
    node = var.owner
    return node.inputs[0] if applies(node, function) else None


def converse_of(comparison: Elemwise) -> Elemwise:
    """Return the comparison that one is with its operands exchanged."""
    return Elemwise(SCALAR_OPS[comparison.scalar_op.converse or ""])  # type: ignore[union-attr]  # one function


def negation_of(comparison: Elemwise) -> Elemwise:
    """Return the comparison that holds where one does not, but for NaN."""
    return Elemwise(SCALAR_OPS[comparison.scalar_op.negation or ""])  # type: ignore[union-attr]  # one function


def is_cast(node: Apply | None) -> TypeGuard[NodeOf[Elemwise]]:
    """Whether a node converts its operand to another dtype."""
    return function_of(node) in _CASTS


def constant_value(var: Variable) -> Any:
    """Return the number that every element of a constant has, or None; dimshuffles of constants are seen through."""
    while (node := var.owner) is not None:
        # Most are elementwise: that it is no other op takes an abstract class longer to say.
        if type(node.op) is Elemwise or not isinstance(node.op, DimShuffle):
            return None
        var = node.inputs[0]
    if not isinstance(var, Constant):
        return None
    data = var.data
    if data.size == 1:
        return data.item()
    if not 0 < data.size <= MOST_NUMBERS:
        return None
    first = data.flat[0]
    # The bits are compared: zeros of both signs are not one number.
    return first.item() if data.tobytes() == first.tobytes() * data.size else None


def kind_of(var: TensorVariable) -> str:
    """Return the kind of a tensor's dtype: b, i, u, f or c."""
    kind: str = var.type.numpy_dtype.kind
    return kind


def never_shrinks(function: ScalarOp, at: int, numbers: Sequence[Any], dtype: str) -> bool:
    """Whether a function that is linear in an operand makes none smaller, the other operands being certain numbers.

    So it may be applied to a sum of floats instead of each term: the sum of the terms as they are stays in range if
    that of the scaled ones does. Half precision is left alone, but for signs: there is no room in it.
    """
    if any(isinstance(number, complex) for number in numbers):
        return False
    real = np.empty(0, dtype).real.dtype
    operands = [np.asarray(number, real) for number in numbers]
    operands.insert(at, np.ones((), real))
    with np.errstate(all="ignore"):
        factor = function.impl(*operands).item()
    if not math.isfinite(factor):
        return False
    return bool(abs(factor) == 1 or (abs(factor) > 1 and dtype != "float16"))


def _promised(fact: str, var: Variable, depth: int) -> bool:
    op = var.owner.op  # type: ignore[union-attr]  # it was looked at
    if type(op).promises is Op.promises or depth <= 0:
        return False
    return op.promises(fact, var, lambda asked, x: FactRules.holds(asked, x, depth - 1))


def is_nonnegative(var: TensorVariable, depth: int = 4) -> bool:
    """Whether no element of a tensor is below 0, or a negative zero, for certain; it may be NaN.

    Decided by its dtype, its value, or the ops that it comes from, to a depth that is bounded.
    """
    kind = var.type.numpy_dtype.kind
    if kind in "buc":
        return kind != "c"
    value = constant_value(var)
    node = var.owner
    if value is not None or node is None:
        # A negative zero would make a quotient minus infinity.
        return value is not None and value >= 0 and math.copysign(1, value) > 0
    if not isinstance(node.op, Elemwise):
        return _promised("nonnegative", var, depth)
    scalar_op = node.op.scalar_op
    if not isinstance(scalar_op, ScalarOp) or any(kind_of(x) != kind for x in node.inputs):
        return False
    if kind == "f" and is_image_nonnegative(scalar_op):
        return True
    if depth <= 0:
        return False
    limits = node.inputs[1:] if scalar_op.bound == "between" else node.inputs
    each = (is_nonnegative(x, depth - 1) for x in limits)
    if scalar_op.bound == "upper":
        return any(each)
    # Of integers, which wrap around, only one of the operands is sure.
    kept = scalar_op.selective if kind == "i" else scalar_op.keeps_positive or grows_from_zero(scalar_op)
    return kept and all(each)


def is_image_nonnegative(scalar_op: ScalarOp) -> bool:
    """Whether every float that a function gives is 0 or more, or NaN, and no negative zero."""
    low = scalar_op.image[0]
    return low >= 0 and math.copysign(1, low) > 0


def is_image_positive(scalar_op: ScalarOp) -> bool:
    """Whether every float that a function gives is above 0, or NaN, unless it is too small for its dtype."""
    low = scalar_op.image[0]
    return low > 0 or (low == 0 and scalar_op.nonzero)


@cache
def grows_from_zero(scalar_op: ScalarOp) -> bool:
    """Whether a function of one operand is increasing, and 0 or more at 0."""
    if scalar_op.nin != 1 or scalar_op.monotone != "increasing":
        return False
    with np.errstate(all="ignore"):
        return bool(scalar_op.impl(np.zeros(())) >= 0)
