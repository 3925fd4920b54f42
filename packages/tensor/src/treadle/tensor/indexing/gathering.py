"""Picking elements by arrays of positions: take, choices among several tensors, index arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Variable, as_flag
from treadle.tensor.arguments.axes import at_axis, normalize_axis
from treadle.tensor.arguments.values import as_choice, as_items
from treadle.tensor.control.assertion import CheckAndRaise
from treadle.tensor.elementwise.arithmetic import maximum, minimum, mod, sub
from treadle.tensor.elementwise.cast import cast, second, switch
from treadle.tensor.elementwise.comparison import eq, ge, lt
from treadle.tensor.elementwise.logic import bitwise_and
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.indexing.indexing import set_subtensor, subtensor
from treadle.tensor.indexing.masks import nonzero
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.shapes.dimshuffle import NEW, as_dimension, dimshuffle
from treadle.tensor.shapes.shape import LENGTH, flatten, reshape, shape_i
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = [
    "choose", "inverse_permutation", "ix_", "permute_row_elements", "piecewise", "put", "put_along_axis", "select",
    "take", "take_along_axis",
]  # fmt: skip

MODES = ("raise", "wrap", "clip")


def as_positions(what: str, indices: TensorLike) -> TensorVariable:
    """Return positions as a tensor of integers; truth values are 0 and 1."""
    positions = as_tensor_variable(indices)
    if 0 in positions.type.shape and getattr(indices, "dtype", None) is None:
        # An empty list has no dtype of its own.
        return cast(positions, LENGTH)
    kind = positions.type.numpy_dtype.kind
    if kind == "b":
        return cast(positions, LENGTH)
    if kind not in "iu":
        msg = f"{what}: positions must be integers, got {positions} of type {positions.type}. Cast them to int64."
        raise TensorTypeError(msg)
    return positions


def in_bounds(positions: TensorVariable, n: TensorLike, mode: str) -> TensorVariable:
    """Return positions brought into a dimension of length n as a mode says; unchanged for ``"raise"``."""
    if mode == "wrap":
        return mod(positions, n)
    if mode == "clip":
        # The largest comes first, so that no position of an unsigned dtype meets a negative number.
        return minimum(maximum(cast(positions, LENGTH), 0), sub(n, 1))
    return positions


def take(a: TensorLike, indices: TensorLike, axis: int | None = None, mode: str = "raise") -> TensorVariable:
    """Pick elements along an axis (as numpy.take); of the flattened tensor if no axis is given.

    Parameters
    ----------
    a
        The tensor.
    indices
        Positions, of any rank: their dimensions take the place of the axis.
    axis
        The axis.
    mode
        What becomes of positions out of bounds: ``"raise"`` is an error, and negative ones count from the end;
        ``"wrap"`` starts again at the other end; ``"clip"`` takes the nearest, so that negative ones are the first.

    Raises
    ------
    AxisError
        If the axis is out of range.
    IndexingError
        If a position is not an integer, or known to be out of bounds.

    Examples
    --------
    >>> tt.take([10, 20, 30], [2, 0]).eval()
    array([30, 10])
    """
    var = as_tensor_variable(a)
    chosen = as_choice("take: mode", mode, MODES)
    positions = as_positions("take", indices)
    if axis is None:
        var, at = flatten(var), 0
    else:
        at = normalize_axis("take", axis, var.ndim)
    if chosen != "raise":
        positions = in_bounds(positions, shape_i(var, at), chosen)
    return subtensor(var, at_axis(at, positions))


def _along(what: str, arr: TensorLike, indices: TensorLike, axis: int | None) -> TensorVariable:
    """Return ``arr`` indexed by positions of its own for each line along an axis."""
    var = as_tensor_variable(arr)
    positions = as_positions(what, indices)
    if axis is None:
        if positions.ndim != 1:
            msg = (
                f"{what}: positions in the flattened tensor must be a vector, got {positions} of rank {positions.ndim}."
            )
            raise ShapeError(msg)
        return subtensor(flatten(var), positions)
    at = normalize_axis(what, axis, var.ndim)
    if positions.ndim != var.ndim:
        msg = (
            f"{what}: positions and tensor must have the same rank, got {positions.ndim} and {var.ndim}. Add or drop "
            "dimensions."
        )
        raise ShapeError(msg)
    ndim = var.ndim
    index = [positions if d == at else as_dimension(arange(shape_i(var, d)), d, ndim) for d in range(ndim)]
    return subtensor(var, tuple(index))


def take_along_axis(arr: TensorLike, indices: TensorLike, axis: int | None = -1) -> TensorVariable:
    """Pick elements along an axis by positions that differ from line to line (as numpy.take_along_axis).

    Parameters
    ----------
    arr
        The tensor.
    indices
        Positions, of the tensor's rank; other dimensions than the axis broadcast against the tensor's.
    axis
        The axis. None: the tensor is flattened, and the positions are a vector.

    Examples
    --------
    >>> tt.take_along_axis([[1, 2], [3, 4]], [[1], [0]], axis=1).eval()
    array([[2],
           [3]])
    """
    return _along("take_along_axis", arr, indices, axis)


def put_along_axis(arr: TensorLike, indices: TensorLike, values: TensorLike, axis: int | None) -> TensorVariable:
    """Return a tensor with what `take_along_axis` picks replaced by values: what numpy.put_along_axis does in place.

    Examples
    --------
    >>> tt.put_along_axis([[1, 2], [3, 4]], [[0], [1]], 9, axis=1).eval()
    array([[9, 2],
           [3, 9]])
    """
    written = set_subtensor(_along("put_along_axis", arr, indices, axis), values)
    return written if axis is not None else reshape(written, as_tensor_variable(arr).shape)


def put(a: TensorLike, ind: TensorLike, v: TensorLike, mode: str = "raise") -> TensorVariable:
    """Return a tensor with elements replaced, at positions in the flattened tensor: what numpy.put does in place.

    Fewer values than positions are repeated; more are left out.

    Examples
    --------
    >>> tt.put([1, 2, 3], [0, 2], [10, 30]).eval()
    array([10,  2, 30])
    """
    var = as_tensor_variable(a)
    chosen = as_choice("put: mode", mode, MODES)
    flat = flatten(var)
    positions = flatten(in_bounds(as_positions("put", ind), shape_i(flat, 0), chosen))
    values = as_tensor_variable(v)
    if values.ndim:
        values = flatten(values)
        values = subtensor(values, mod(arange(shape_i(positions, 0)), shape_i(values, 0)))
    return reshape(set_subtensor(subtensor(flat, positions), cast(values, var.dtype)), var.shape)


# Choices among tensors


def choose(a: TensorLike, choices: Sequence[TensorLike] | TensorLike, mode: str = "raise") -> TensorVariable:
    """Pick each element from the tensor whose number stands at its place (as numpy.choose).

    Parameters
    ----------
    a
        Integers.
    choices
        The tensors to choose from, a sequence or a tensor's first dimension; broadcast together and with `a`.
    mode
        What becomes of numbers of no tensor: ``"raise"`` is an error, ``"wrap"`` counts on from the other end,
        ``"clip"`` takes the nearest.

    Examples
    --------
    >>> tt.choose([0, 1], [[10, 20], [30, 40]]).eval()
    array([10, 40])
    """
    which = as_positions("choose", a)
    how = as_choice("choose: mode", mode, MODES)
    if isinstance(choices, Variable | np.ndarray):
        table = as_tensor_variable(choices)
        if not table.ndim:
            msg = f"choose: choices must be a sequence or have a dimension of them, got {table} of rank 0."
            raise ShapeError(msg)
        return _choose_from(which, table, how)
    tensors = [as_tensor_variable(x) for x in as_items("choose: choices", choices)]  # type: ignore[arg-type]  # refuses anything but a sequence
    if not tensors:
        msg = "choose: there is nothing to choose from. Pass one tensor at least."
        raise ShapeError(msg)
    dtype = np.result_type(*(x.dtype for x in tensors))
    number = in_bounds(which, len(tensors), how) if how != "raise" else _checked(which, len(tensors))
    result = cast(tensors[-1], dtype)
    for k in range(len(tensors) - 2, -1, -1):
        result = switch(eq(number, k), cast(tensors[k], dtype), result)
    if len(tensors) == 1:
        # The numbers are still checked, and lend the result their shape.
        result = second(number, result)
    return result


def _checked(which: TensorVariable, n: TensorLike) -> TensorVariable:
    """Return numbers as they are; the program raises a ValueError where one is negative, or n or more."""
    inside = bitwise_and(ge(which, 0), lt(which, n))
    checked: TensorVariable = CheckAndRaise(ValueError, "choose: a number of no choice")(cast(which, LENGTH), inside)
    return checked


def _choose_from(which: TensorVariable, table: TensorVariable, how: str) -> TensorVariable:
    n = shape_i(table, 0)
    number = _checked(which, n) if how == "raise" else in_bounds(which, n, how)
    ndim = max(which.ndim, table.ndim - 1)
    lacking = ndim - (table.ndim - 1)
    wide = dimshuffle(table, 0, *[NEW] * lacking, *range(1, table.ndim))
    index = [dimshuffle(number, *[NEW] * (ndim - which.ndim), *range(which.ndim))]
    index += [as_dimension(arange(shape_i(wide, d + 1)), d, ndim) for d in range(ndim)]
    return subtensor(wide, tuple(index))


def select(condlist: Sequence[TensorLike], choicelist: Sequence[TensorLike], default: TensorLike = 0) -> TensorVariable:
    """Pick each element from the tensor of the first condition that holds there (as numpy.select).

    Parameters
    ----------
    condlist
        Boolean tensors.
    choicelist
        A tensor for each condition.
    default
        What is picked where no condition holds.

    Examples
    --------
    >>> tt.select([[True, False], [False, True]], [1, 2]).eval()
    array([1, 2])
    """
    conditions = [as_tensor_variable(c) for c in as_items("select: condlist", condlist)]
    choices = as_items("select: choicelist", choicelist)
    if not conditions or len(conditions) != len(choices):
        msg = f"select: {len(conditions)} conditions and {len(choices)} choices are given. Give as many, at least one."
        raise ShapeError(msg)
    for at, condition in enumerate(conditions):
        if condition.dtype != "bool":
            msg = f"select: condition {at} must be boolean, got one of dtype {condition.dtype}. Compare it with 0."
            raise TensorTypeError(msg)
    every = [*choices, default]
    plain = (int, float, complex)
    dtype = np.result_type(*(x if type(x) in plain else as_tensor_variable(x).dtype for x in every))  # type: ignore[arg-type]  # plain numbers and dtypes
    *values, result = [cast(x, dtype) for x in every]
    for condition, value in zip(reversed(conditions), reversed(values), strict=True):
        result = switch(condition, value, result)
    return result


def piecewise(
    x: TensorLike,
    condlist: Sequence[TensorLike] | TensorLike,
    funclist: Sequence[Callable[..., TensorLike] | TensorLike],
    *args: object,
    **kw: object,
) -> TensorVariable:
    """Compute each element by the function of the last condition that holds there (as numpy.piecewise).

    Each function is applied to the whole tensor, and must be elementwise; where it is undefined outside its condition
    its value there does not count.

    Parameters
    ----------
    x
        The tensor. The result has its shape and dtype.
    condlist
        Boolean tensors of its shape, or one.
    funclist
        A function or a number for each condition, and one more for where none holds, 0 if it is missing.
    args, kw
        Passed to the functions.

    Examples
    --------
    >>> x = tt.constant([-1.0, 2.0])
    >>> tt.piecewise(x, [x < 0, x >= 0], [-1.0, 1.0]).eval()
    array([-1.,  1.])
    """
    var = as_tensor_variable(x)
    several = isinstance(condlist, list | tuple) and not all(isinstance(c, bool | int | np.generic) for c in condlist)
    condition_list = list(condlist) if several else [condlist]  # type: ignore[arg-type]  # a sequence
    conditions = [cast(c, "bool") for c in condition_list]
    functions = as_items("piecewise: funclist", funclist)
    if len(functions) not in {len(conditions), len(conditions) + 1}:
        msg = (
            f"piecewise: {len(functions)} functions are given for {len(conditions)} conditions. Give one for each, and "
            "one for where none holds if it is not 0."
        )
        raise ShapeError(msg)

    def value(function: Callable[..., TensorLike] | TensorLike) -> TensorVariable:
        result = function(var, *args, **kw) if callable(function) else function
        return cast(result, var.dtype)

    result = value(functions.pop()) if len(functions) > len(conditions) else zeros_like(var)
    for condition, function in zip(conditions, functions, strict=True):
        result = switch(condition, value(function), result)
    return second(var, result)


# Index arrays


def ix_(*args: TensorLike) -> tuple[TensorVariable, ...]:
    """Return vectors as index arrays of an open mesh: ``x[ix_([1, 3], [2, 5])]`` (as numpy.ix_).

    A boolean vector stands for the positions of its true elements.

    Examples
    --------
    >>> [at.eval().shape for at in tt.ix_([0, 1], [2, 3, 4])]
    [(2, 1), (1, 3)]
    """
    index_arrays = []
    for k, arg in enumerate(args):
        vector = as_tensor_variable(arg)
        if vector.ndim != 1:
            msg = f"ix_: vectors are needed, got {vector} of rank {vector.ndim}. Flatten it."
            raise ShapeError(msg)
        positions = nonzero(vector)[0] if vector.dtype == "bool" else as_positions("ix_", arg)
        index_arrays.append(as_dimension(positions, k, len(args)))
    return tuple(index_arrays)


def inverse_permutation(perm: TensorLike) -> TensorVariable:
    """Return the permutation that undoes another one, for each vector along the last dimension.

    Examples
    --------
    >>> tt.inverse_permutation([2, 0, 1]).eval()
    array([1, 2, 0])
    """
    var = as_positions("inverse_permutation", perm)
    numbers = cast(arange(shape_i(var, -1)), var.dtype)
    if var.ndim > 1:
        return put_along_axis(zeros_like(var), var, numbers, -1)
    return set_subtensor(subtensor(zeros_like(var), var), numbers)


def permute_row_elements(x: TensorLike, y: TensorLike, inverse: bool = False) -> TensorVariable:
    """Permute the elements of each vector along the last dimension.

    Parameters
    ----------
    x
        The tensor.
    y
        A permutation, or one for each vector; leading dimensions broadcast against those of `x`.
    inverse
        Whether to apply the inverse permutation.

    Examples
    --------
    >>> tt.permute_row_elements([[1, 2, 3]], [2, 0, 1]).eval()
    array([[3, 1, 2]])
    """
    backward = as_flag("permute_row_elements: inverse", inverse)
    var, perm = as_tensor_variable(x), as_positions("permute_row_elements", y)
    ndim = max(var.ndim, perm.ndim)
    var, perm = (dimshuffle(v, *[NEW] * (ndim - v.ndim), *range(v.ndim)) for v in (var, perm))
    return take_along_axis(var, inverse_permutation(perm) if backward else perm, -1)
