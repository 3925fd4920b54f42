"""Values and lengths that are known when the graph is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import text_of
from treadle.graph import Constant, DeepCopyOp, Variable, as_flag
from treadle.tensor.arguments.values import as_integer
from treadle.tensor.arrangement.joined_axes import JoinDims, SplitDims
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.errors import NotScalarConstantError, TensorTypeError
from treadle.tensor.indexing.expressions import At
from treadle.tensor.indexing.indexing import Subtensor
from treadle.tensor.joins.joining import Join
from treadle.tensor.ops.known_values import known_value, known_values
from treadle.tensor.shapes.broadcasting import Alloc
from treadle.tensor.shapes.dimshuffle import DimShuffle
from treadle.tensor.shapes.shape import Reshape, lengths
from treadle.tensor.shapes.shape_specification import SpecifyShape
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from treadle.graph import Apply
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = [
    "get_scalar_constant_value", "get_underlying_scalar_constant_value", "get_vector_length", "is_flat", "shape_tuple",
]  # fmt: skip

# Ops whose results hold no other numbers than their first input.
_SAME_NUMBERS = (Alloc, DeepCopyOp, DimShuffle, JoinDims, Reshape, SpecifyShape, SplitDims)


def get_underlying_scalar_constant_value(
    v: TensorLike,
    *,
    elemwise: bool = True,
    only_process_constants: bool = False,
    max_recur: int = 10,
    raise_not_constant: bool = True,
) -> np.ndarray | TensorLike:
    """Return the number that a tensor is known to be in every element, as a NumPy array of rank 0.

    Parameters
    ----------
    v
        A tensor, number or array.
    elemwise
        Whether elementwise functions of constants are worked out.
    only_process_constants
        Whether only constants count, not what is computed from them.
    max_recur
        How many nodes deep is looked.
    raise_not_constant
        Whether it is an error if there is no such number; else `v` is returned.

    Raises
    ------
    NotScalarConstantError
        If the number is not known, or there are several.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> tt.get_underlying_scalar_constant_value(tt.full((2, 3), 7.0))
    array(7.)
    """
    what = "get_underlying_scalar_constant_value"
    return _known(what, v, elemwise, only_process_constants, max_recur, raise_not_constant)


def _known(
    what: str, v: TensorLike, elemwise: bool, only_process_constants: bool, max_recur: int, raise_not_constant: bool
) -> np.ndarray | TensorLike:
    """Return the number that every element is known to be; `what` is asked for it."""
    most = as_integer(f"{what}: max_recur", max_recur, 0)
    depth = 0 if as_flag(f"{what}: only_process_constants", only_process_constants) else most
    number = None if v is None else _number(v, as_flag(f"{what}: elemwise", elemwise), depth)
    if number is not None:
        return number
    if not as_flag(f"{what}: raise_not_constant", raise_not_constant):
        return v
    msg = f"{what}: {text_of(v)} is not known to be one number in every element. Give it as a constant."
    raise NotScalarConstantError(msg)


def get_scalar_constant_value(
    v: TensorLike,
    elemwise: bool = True,
    only_process_constants: bool = False,
    max_recur: int = 10,
    raise_not_constant: bool = True,
) -> np.ndarray | TensorLike:
    """Return the number that a tensor of one element is known to be (see `get_underlying_scalar_constant_value`).

    Raises
    ------
    NotScalarConstantError
        If it may have more elements, or the number is not known.

    Examples
    --------
    >>> tt.get_scalar_constant_value(tt.constant(3.0) + 1)
    array(4.)
    """
    what = "get_scalar_constant_value"
    if v is not None and any(n != 1 for n in as_tensor_variable(v).type.shape):
        if not as_flag(f"{what}: raise_not_constant", raise_not_constant):
            return v
        msg = f"{what}: one element is needed, got {text_of(v)}. Use get_underlying_scalar_constant_value."
        raise NotScalarConstantError(msg)
    return _known(what, v, elemwise, only_process_constants, max_recur, raise_not_constant)


def _number(v: TensorLike, elemwise: bool, depth: int) -> np.ndarray | None:
    """Return the number, or None."""
    if isinstance(v, Variable) and not isinstance(v.type, TensorType):
        return None
    var = as_tensor_variable(v)
    if isinstance(var, Constant):
        data = var.data
        same = data.size > 0 and bool((data == data.flat[0]).all() or (data != data).all())
        return np.array(data.flat[0], data.dtype) if same else None
    node = var.owner
    if node is None or depth == 0:
        return None
    if isinstance(node.op, _SAME_NUMBERS):
        return _number(node.inputs[0], elemwise, depth - 1)
    if isinstance(node.op, Subtensor):
        picked = _picked(node)
        return None if picked is None else _number(picked, elemwise, depth - 1)
    if isinstance(node.op, Elemwise):
        return _computed(node, depth) if elemwise else None
    known = known_value(var) if var.ndim == 0 else None
    if known is not None:
        return np.array(known, var.dtype)
    return _common(node, elemwise, depth) if isinstance(node.op, Join) else None


def _picked(node: Apply[TensorVariable]) -> TensorVariable | None:
    """Return a variable whose elements include those of a part of a tensor: the tensor, or a scalar it is joined of."""
    x = node.inputs[0]
    (entry, *others) = node.op.entries  # type: ignore[attr-defined]  # of a Subtensor
    inner = x.owner
    if inner is None or not isinstance(inner.op, Join) or others or not isinstance(entry, At):
        known = known_values(node.outputs[0]) if node.outputs[0].ndim == 0 else None
        return as_tensor_variable(known[0]) if known and known[0] is not None else x
    at = entry.value
    if not isinstance(at, int) or any(part.type.shape != (1,) for part in inner.inputs):
        return None
    return inner.inputs[at] if -len(inner.inputs) <= at < len(inner.inputs) else None


def _common(node: Apply[TensorVariable], elemwise: bool, depth: int) -> np.ndarray | None:
    """Return the number that all parts of a join are."""
    numbers = [_number(x, elemwise, depth - 1) for x in node.inputs]
    first = numbers[0]
    same = first is not None and all(value is not None and value == first for value in numbers)
    return first.astype(node.outputs[0].dtype) if same and first is not None else None


def _computed(node: Apply[TensorVariable], depth: int) -> np.ndarray | None:
    """Apply an elementwise function to numbers."""
    values = [_number(x, True, depth - 1) for x in node.inputs]
    if len(node.outputs) != 1 or any(value is None for value in values):
        return None
    storage: list[list[np.ndarray]] = [[None]]  # type: ignore[list-item]  # an empty cell
    with np.errstate(all="ignore"):
        node.op.perform(node, values, storage)
    return np.asarray(storage[0][0]).reshape(())


def get_vector_length(v: TensorLike) -> int:
    """Return the length of a vector, where it is known when the graph is built.

    Raises
    ------
    TensorTypeError
        If `v` is not a vector, or its length is not known.

    Examples
    --------
    >>> tt.get_vector_length(tt.constant([1, 2, 3]))
    3
    """
    var = as_tensor_variable(v)
    if var.ndim != 1 or var.type.shape[0] is None:
        msg = f"get_vector_length: a vector of known length is needed, got {text_of(v)} of type {var.type}."
        raise TensorTypeError(msg)
    return var.type.shape[0]


def shape_tuple(x: TensorLike) -> tuple[TensorVariable, ...]:
    """Return the length of each dimension as an int64 scalar; those that are known as constants.

    Examples
    --------
    >>> [int(n.eval()) for n in tt.shape_tuple(np.ones((2, 3)))]
    [2, 3]
    """
    return tuple(lengths(x))


def is_flat(var: TensorLike, ndim: int = 1) -> bool:
    """Return whether a tensor has a rank: that of a vector, unless another is given.

    Examples
    --------
    >>> tt.is_flat(tt.dvector("x")), tt.is_flat(tt.dmatrix("x"))
    (True, False)
    """
    return as_tensor_variable(var).ndim == as_integer("is_flat: ndim", ndim, 0)
