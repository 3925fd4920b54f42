"""Rules for casts and copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import view_op
from treadle.rewrite import Phase, RuleSet
from treadle.tensor.elementwise.arithmetic import add, mul, sub, true_div
from treadle.tensor.elementwise.cast import CASTS, cast, identity
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.scalar_op import ScalarOp
from treadle.tensor.errors import DtypeError
from treadle.tensor.rewrites.analysis.patterns import BOTH
from treadle.tensor.rewrites.analysis.predicates import is_cast
from treadle.tensor.types.conversion import constant
from treadle.tensor.variables.variable import TensorConstant

if TYPE_CHECKING:
    from treadle.graph import Apply, Variable
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("cast")
_ALL_CASTS = tuple(CASTS.values())
# Bits of the largest integers, from zero on, that a float holds exactly.
_MANTISSA = {"float16": 11, "float32": 24, "float64": 53}


@RULES.rule(Phase.CANONICALIZE, *_ALL_CASTS, tags=BOTH, depth=1)
def cast_to_own_dtype(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """cast(x, dtype of x) -> x."""
    x, out = (v.type for v in (node.inputs[0], node.outputs[0]))
    return node.inputs[0] if getattr(x, "dtype", None) == getattr(out, "dtype", "") else None


@RULES.rule(Phase.CANONICALIZE, identity, view_op, tags=BOTH, depth=1)
def useless_copy(node: Apply) -> Variable:
    """identity(x) -> x, and so for view_op: what outputs of a function need comes after all rules."""
    return node.inputs[0]


def _is_exact(source: np.dtype, target: np.dtype) -> bool:
    """Whether every value of one dtype is a value of the other."""
    if source == target or source.kind == "b":
        return True
    if source.kind in "iu" and target.kind == "f":
        return 8 * source.itemsize <= _MANTISSA[target.name]
    return target.kind in "iuf" and bool(np.can_cast(source, target, "safe"))


@RULES.rule(Phase.CANONICALIZE, *_ALL_CASTS, tags=BOTH)
def cast_of_cast(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """cast(cast(x, a), b) -> cast(x, b), where a holds every value of x.

    Not where a float would become an integer: what happens out of range depends on the float.
    """
    inner = node.inputs[0].owner
    if not is_cast(inner):
        return None
    x = inner.inputs[0]
    middle = node.inputs[0].type
    out = node.outputs[0].type
    source, between, target = x.type.numpy_dtype, middle.numpy_dtype, out.numpy_dtype
    if "c" in {source.kind, between.kind, target.kind} or not _is_exact(source, between):
        return None
    if between.kind == "f" and target.kind in "iu":
        return None
    if between.kind == "b" and source.kind != "b":
        return None
    return cast(x, out.dtype)


@RULES.rule(Phase.CANONICALIZE, Elemwise, tags=BOTH, below=_ALL_CASTS)
def operand_cast_in_vain(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """f(cast(x), y) -> f(x, y), where f converts x to that dtype itself and its result stays the same."""
    op = node.op
    if not isinstance(op.scalar_op, ScalarOp) or len(node.inputs) == 1:
        return None
    loops = op.loop_dtypes(node)
    inputs = list(node.inputs)
    for i, x in enumerate(inputs):
        source = _cast_source(x)
        if source is None:
            continue
        trial = [*inputs[:i], source, *inputs[i + 1 :]]
        kinds = [v.type.numpy_dtype for v in trial]
        try:
            signature, out = op.scalar_op.signature(kinds)
        except DtypeError:
            # The cast was there to make the operands ones that the function takes.
            continue
        if signature == loops and out == getattr(node.outputs[0].type, "numpy_dtype", None):
            inputs = trial
    if all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
        return None
    return op(*inputs)


@RULES.rule(Phase.CANONICALIZE, add, sub, mul, true_div, tags=BOTH, depth=1, constants="any")
def number_of_other_dtype(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """(x + a) -> x + cast(a), for one number a of another dtype than x and the sum; so for products and quotients.

    The operation converts it anyway. Other rules then take the number, and functions of it, in the wide dtype.
    """
    dtype = node.op.loop_dtypes(node)[0]
    if dtype.kind not in "iuf" or all(x.type.numpy_dtype != dtype for x in node.inputs):
        return None
    inputs = [_widened(x, dtype) for x in node.inputs]
    return None if all(a is b for a, b in zip(inputs, node.inputs, strict=True)) else node.op(*inputs)


def _widened(x: TensorVariable, dtype: np.dtype) -> TensorVariable:
    """Return a constant of one element in a dtype, and other variables as they are."""
    if not isinstance(x, TensorConstant) or x.data.size != 1 or x.data.dtype == dtype:
        return x
    return constant(x.data.astype(dtype))


def _cast_source(x: TensorVariable) -> TensorVariable | None:
    """Return what a variable is a cast of, if the cast loses nothing."""
    node = x.owner
    if not is_cast(node):
        return None
    source = node.inputs[0]
    a, b = source.type.numpy_dtype, x.type.numpy_dtype
    return source if a.kind != "c" and b.kind != "c" and _is_exact(a, b) else None
