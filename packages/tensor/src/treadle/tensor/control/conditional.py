"""ifelse: a choice between two branches; only the chosen one is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import VECTORIZERS, IfElse, Variable, check_name
from treadle.tensor.batches.batching import spread_all
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.shapes.batch_dims import aligned, batch_ndim, most_batch, refuse_batched
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply
    from treadle.tensor.shapes.batch_dims import Pair
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

__all__ = ["ifelse"]


def ifelse(condition: TensorLike, then_branch: Any, else_branch: Any, name: str | None = None) -> Any:
    """Return the first branch where a condition is true, else the second; only the branch taken is computed.

    What both branches need, or something outside of them, is computed in any case. `switch` in contrast chooses for
    each element, and computes both of its operands.

    Parameters
    ----------
    condition
        A scalar of any dtype; true if it is not zero.
    then_branch, else_branch
        A variable or number, or lists (or tuples) of them, of the same length. The dtypes of two that belong together
        are unified as those of operands are; their ranks must agree. Their lengths may differ, except on JAX.
    name
        Shown when printed.

    Returns
    -------
    A variable, or a list or tuple of them as `then_branch` is.

    Raises
    ------
    TensorTypeError
        If the condition is not a scalar, or two values that belong together have different ranks, or types that have
        nothing in common.
    ShapeError
        If the branches have different numbers of variables.

    Notes
    -----
    Gradients flow through the branch taken only: nothing is computed for the other, so that an infinite or undefined
    derivative there does no harm. Nor does a failure in the other branch, except on JAX: there both branches are traced
    for the shapes of the arguments, and what cannot be traced is an error.

    Examples
    --------
    >>> from treadle.tensor import dscalar, ifelse, log
    >>> x = dscalar("x")
    >>> float(ifelse(x > 0, log(x), -1.0).eval({x: 0.0}))
    -1.0
    """
    check_name("ifelse", name)
    many = isinstance(then_branch, list | tuple), isinstance(else_branch, list | tuple)
    first = list(then_branch) if many[0] else [then_branch]
    second = list(else_branch) if many[1] else [else_branch]
    if many[0] != many[1] or len(first) != len(second) or not first:
        counts = f"{_described(many[0], first)} and {_described(many[1], second)}"
        msg = f"ifelse: the branches must have as many variables, one at least, got {counts}. Add what is missing."
        raise ShapeError(msg)
    test = condition if isinstance(condition, Variable) else as_tensor_variable(condition)
    if getattr(test.type, "ndim", 0):
        msg = (
            f"ifelse: the condition must be a scalar, got {test} of type {test.type}. "
            "Reduce it with all or any, or choose elementwise with switch."
        )
        raise TensorTypeError(msg)
    pairs = [_unified(i, x, y) for i, (x, y) in enumerate(zip(first, second, strict=True))]
    op = IfElse(len(pairs), name=name)
    outputs = op(test, *(x for x, _ in pairs), *(y for _, y in pairs), return_list=True)
    if not many[0]:
        return outputs[0]
    return tuple(outputs) if isinstance(then_branch, tuple) else outputs


def _described(many: bool, items: Sequence[object]) -> str:
    return f"a sequence of {len(items)}" if many else "a single one"


def _unified(at: int, x: TensorLike, y: TensorLike) -> tuple[Variable, Variable]:
    """Return the variables of both branches at one position, of one dtype."""
    first, second = _converted(x, y), _converted(y, x)
    a, b = first.type, second.type
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        if a.ndim != b.ndim:
            msg = (
                f"ifelse: what belongs together must have one rank, got {first} of type {a} and {second} of type {b} "
                f"at position {at}. Reshape or broadcast one of them."
            )
            raise TensorTypeError(msg)
        wide = np.result_type(a.numpy_dtype, b.numpy_dtype).name
        return cast(first, wide), cast(second, wide)
    if not (a.in_same_class(b) or a.is_super(b) or b.is_super(a)):
        msg = (
            f"ifelse: what belongs together must have one type, got {first} of type {a} and {second} of type {b} at "
            f"position {at}. Convert one of them."
        )
        raise TensorTypeError(msg)
    return first, second


def _converted(x: TensorLike, other: TensorLike) -> Variable:
    """Return a variable; a Python number takes on the dtype of the tensor next to it, where that has room."""
    if isinstance(x, Variable):
        return x
    kind = other.type if isinstance(other, Variable) else None
    if isinstance(x, bool | int | float | complex) and isinstance(kind, TensorType):
        return constant(x, dtype=np.result_type(kind.numpy_dtype, x).name)
    return as_tensor_variable(x)


@VECTORIZERS.register(IfElse)
def vectorize_ifelse(op: IfElse, node: TensorNode, *inputs: TensorVariable) -> Apply | list[Variable]:
    """Choose between batches, or elementwise between the branches where the condition has a batch."""
    pairs = list(zip(node.inputs, inputs, strict=True))
    others = [(old, new) for old, new in pairs[1:] if not isinstance(old.type, TensorType)]
    refuse_batched([(old, new) for old, new in others if hasattr(new.type, "ndim")], f"{op}: a value that is no tensor")
    condition = pairs[0]
    if isinstance(condition[0].type, TensorType) and batch_ndim(*condition):
        return _elementwise(op, node, pairs)
    branches: list[Variable] = []
    first, second = pairs[1 : 1 + op.n_outs], pairs[1 + op.n_outs :]
    aligned_pairs = [_together(a, b) for a, b in zip(first, second, strict=True)]
    branches = [*(a for a, _ in aligned_pairs), *(b for _, b in aligned_pairs)]
    return op.make_node(condition[1], *branches)


def _together(first: Pair, second: Pair) -> tuple[TensorVariable, TensorVariable]:
    """Return two values that belong together with the same batch dimensions."""
    if not isinstance(first[0].type, TensorType) or most_batch([first, second]) == 0:
        return first[1], second[1]
    a, b = spread_all([first, second])
    return a, b


def _elementwise(op: IfElse, node: Apply, pairs: Sequence[Pair]) -> list[Variable]:
    """Return switches on the batched condition: both branches are computed, and must have one shape."""
    batch = most_batch([pair for pair in pairs if isinstance(pair[0].type, TensorType)])
    wide = aligned(pairs[0][0], pairs[0][1], batch)
    switches: list[Variable] = []
    for i, out in enumerate(node.outputs):
        rank = getattr(out.type, "ndim", 0)
        test = dimshuffle(wide, *range(batch), *[NEW] * rank)
        first, second = (aligned(pairs[at][0], pairs[at][1], batch) for at in (1 + i, 1 + op.n_outs + i))
        switches.append(switch(test, first, second))
    return switches
