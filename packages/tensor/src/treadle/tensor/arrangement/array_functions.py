"""NumPy's functions that make, convert and describe arrays, for tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import alias, text_of
from treadle.graph import Variable, composed
from treadle.tensor.arguments.axes import normalize_axes
from treadle.tensor.arguments.values import as_integer, check_flags
from treadle.tensor.elementwise.cast import cast, identity
from treadle.tensor.errors import ShapeError
from treadle.tensor.lengths.numbers import as_scalar, product
from treadle.tensor.shapes.broadcasting import full, full_like
from treadle.tensor.shapes.dimshuffle import transpose
from treadle.tensor.shapes.shape import lengths
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from treadle.tensor.variables.variable import AxisLike, TensorLike, TensorVariable

__all__ = [
    "array", "asanyarray", "asarray", "ascontiguousarray", "astype", "copy", "empty", "empty_like", "isscalar", "ndim",
    "permute_dims", "ravel", "size",
]  # fmt: skip

permute_dims = alias(transpose, "permute_dims")


def asarray(a: TensorLike, dtype: DTypeLike | None = None) -> TensorVariable:
    """Return a number, an array, a nested list of tensors or a tensor as a tensor of a dtype (as numpy.asarray).

    Examples
    --------
    >>> tt.asarray([1, 2], dtype="float64").eval()
    array([1., 2.])
    """
    if dtype is not None and not isinstance(a, Variable | list | tuple):
        return constant(a, dtype=dtype)
    var = as_tensor_variable(a)
    return var if dtype is None else cast(var, TensorType(dtype).dtype)


asanyarray = alias(asarray, "asanyarray")
ascontiguousarray = alias(asarray, "ascontiguousarray")


def array(object: TensorLike, dtype: DTypeLike | None = None, *, ndmin: int = 0) -> TensorVariable:
    """Return what `asarray` does, with dimensions of length 1 put in front up to a rank (as numpy.array).

    Examples
    --------
    >>> tt.array([[1, 2], [3, 4]]).eval()
    array([[1, 2],
           [3, 4]])
    """
    var = asarray(object, dtype)
    return as_tensor_variable(var, ndim=max(as_integer("array: ndmin", ndmin), var.ndim))


def astype(x: TensorLike, dtype: DTypeLike, /, *, copy: bool = True) -> TensorVariable:
    """Return a tensor converted to a dtype (as numpy.astype).

    Examples
    --------
    >>> tt.astype([1.7, -1.7], "int64").eval()
    array([ 1, -1])
    """
    check_flags("astype", copy=copy)  # graphs have no memory that could be shared
    return cast(as_tensor_variable(x), TensorType(dtype).dtype)


def copy(a: TensorLike) -> TensorVariable:
    """Return a copy of a tensor (as numpy.copy).

    Examples
    --------
    >>> tt.copy([1, 2]).eval()
    array([1, 2])
    """
    return identity(as_tensor_variable(a))


def empty(shape: TensorLike, dtype: DTypeLike | None = None) -> TensorVariable:
    """Return a tensor whose values do not matter (as numpy.empty; dtype floatX); they are zeros.

    Examples
    --------
    >>> tt.empty((2, 3)).eval().shape
    (2, 3)
    """
    return full(shape, 0, "floatX" if dtype is None else dtype)


def empty_like(
    prototype: TensorLike, dtype: DTypeLike | None = None, *, shape: TensorLike | None = None
) -> TensorVariable:
    """Return a tensor of the shape and dtype of another, whose values do not matter (as numpy.empty_like).

    Examples
    --------
    >>> tt.empty_like(np.zeros((2, 3))).eval().shape
    (2, 3)
    """
    return full_like(prototype, 0, dtype, shape=shape)


def isscalar(element: object) -> bool:
    """Return whether something is a plain number or a tensor of rank 0 (as numpy.isscalar, which knows no tensors).

    Examples
    --------
    >>> tt.isscalar(3), tt.isscalar([3])
    (True, False)
    """
    if isinstance(element, Variable):
        return getattr(element.type, "ndim", None) == 0
    return bool(np.isscalar(element))


def ndim(a: TensorLike) -> int:
    """Return the rank of a tensor, or of what can be made one (as numpy.ndim).

    Examples
    --------
    >>> tt.ndim(np.ones((2, 3)))
    2
    """
    return as_tensor_variable(a).ndim


@composed
def size(a: TensorLike, axis: AxisLike = None) -> TensorVariable:
    """Return the number of elements, along axes if some are given, as an int64 scalar (as numpy.size).

    Examples
    --------
    >>> tt.size(np.ones((2, 3))).eval()
    array(6)
    """
    var = as_tensor_variable(a)
    own = lengths(var)
    return as_scalar(product(own[d] for d in normalize_axes("size", axis, var.ndim)))


def ravel(a: TensorLike, order: str = "C") -> TensorVariable:
    """Return the elements of a tensor as a vector, in C or Fortran order (as numpy.ravel).

    Raises
    ------
    ShapeError
        If the order is another one: tensors have no layout in memory.

    Examples
    --------
    >>> tt.ravel([[1, 2], [3, 4]]).eval()
    array([1, 2, 3, 4])
    """
    var = as_tensor_variable(a)
    if not isinstance(order, str) or order not in {"C", "F"}:
        msg = f"ravel: the order must be C or F, since tensors have no layout in memory, got {text_of(order)}."
        raise ShapeError(msg)
    return (transpose(var) if order == "F" else var).flatten()
