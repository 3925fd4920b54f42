"""What rules over tensors are declared with: modes, phases, patterns with operators, and conditions of patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import Pattern, Phase
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.scalar_op import ScalarOp
from treadle.tensor.rewrites.analysis.predicates import kind_of
from treadle.tensor.variables.operators import Operators

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from treadle.graph import Op
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

    # A condition of a pattern: of the node, and what its holes have matched.
    Condition = Callable[[TensorNode, Mapping[str, TensorVariable]], bool]

# Tags of rules for the modes of these names.
BOTH = ("fast_run", "fast_compile")
EVERY_MODE = (*BOTH, "minimum_compile")
EARLY_AND_LATE = (Phase.CANONICALIZE, Phase.SPECIALIZE)


class TensorPattern(Pattern, Operators):
    """A hole in a tensor expression, with Python's operators."""


def is_commutative(op: Op) -> bool:
    """Whether an op's scalar op says that its operands may be exchanged."""
    return isinstance(op, Elemwise) and isinstance(op.scalar_op, ScalarOp) and op.scalar_op.commutative


def is_real(node: TensorNode, match: Mapping[str, TensorVariable]) -> bool:
    """Whether the result and everything matched are floats of one dtype."""
    kind = node.outputs[0].type
    return kind.numpy_dtype.kind == "f" and all(_dtype(x) == kind.dtype for x in match.values())


def keeps_dtype(node: TensorNode, match: Mapping[str, TensorVariable]) -> bool:
    """Whether everything matched has the result's dtype."""
    kind = node.outputs[0].type
    return all(_dtype(x) == kind.dtype for x in match.values())


def keeps_real_dtype(node: TensorNode, match: Mapping[str, TensorVariable]) -> bool:
    """Whether everything matched has the result's dtype, which is not complex."""
    return kind_of(node.outputs[0]) != "c" and keeps_dtype(node, match)


def is_integer(node: TensorNode, match: Mapping[str, TensorVariable]) -> bool:
    """Whether the result is an integer and has the dtype of everything matched."""
    kind = node.outputs[0].type
    return kind.numpy_dtype.kind in "iu" and all(_dtype(x) == kind.dtype for x in match.values())


def is_not_complex(node: TensorNode, match: Mapping[str, TensorVariable]) -> bool:
    """Whether nothing is complex."""
    return kind_of(node.outputs[0]) != "c" and all(kind_of(x) != "c" for x in match.values())


def is_number(node: TensorNode, match: Mapping[str, TensorVariable]) -> bool:
    """Whether nothing matched is complex or bool."""
    return all(kind_of(x) in "iuf" for x in match.values())


def is_signed(node: TensorNode, match: Mapping[str, TensorVariable]) -> bool:
    """Whether everything matched is a float or a signed integer."""
    return all(kind_of(x) in "if" for x in match.values())


def _dtype(var: TensorVariable) -> str:
    kind = var.type
    return str(getattr(kind, "dtype", ""))
