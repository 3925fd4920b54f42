"""Putting tensors together: rows, columns, blocks; what is built on joining."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.config import alias, text_of
from treadle.tensor.arguments.axes import at_axis, normalize_axis
from treadle.tensor.arguments.values import as_items
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.joins.common_shapes import common_lengths
from treadle.tensor.joins.joining import concatenate, stack, vstack
from treadle.tensor.shapes.broadcasting import alloc
from treadle.tensor.shapes.dimshuffle import atleast_3d, expand_dims, shape_padleft
from treadle.tensor.shapes.shape import lengths
from treadle.tensor.shapes.shape_specification import held
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

# Nobody nests lists deeper by hand.
_DEEPEST = 100

__all__ = [
    "block", "column_stack", "concat", "concat_with_broadcast", "dstack", "horizontal_stack", "row_stack", "stacklists",
    "unstack", "vertical_stack",
]  # fmt: skip

concat = alias(concatenate, "concat")
row_stack = alias(vstack, "row_stack")


def column_stack(tup: Sequence[TensorLike]) -> TensorVariable:
    """Put vectors, as columns, and matrices side by side (as numpy.column_stack).

    Examples
    --------
    >>> tt.column_stack([[1, 2], [3, 4]]).eval()
    array([[1, 3],
           [2, 4]])
    """
    columns = []
    for x in map(as_tensor_variable, as_items("column_stack: the tensors", tup)):
        vector = x if x.ndim else expand_dims(x, 0)
        columns.append(expand_dims(vector, 1) if vector.ndim == 1 else vector)
    return concatenate(columns, 1)


def dstack(tup: Sequence[TensorLike]) -> TensorVariable:
    """Put tensors one after another along the third axis (as numpy.dstack).

    Examples
    --------
    >>> tt.dstack([[1, 2], [3, 4]]).eval()
    array([[[1, 3],
            [2, 4]]])
    """
    return concatenate([atleast_3d(x) for x in as_items("dstack: the tensors", tup)], 2)


def _matrices(what: str, args: Sequence[TensorLike]) -> list[TensorVariable]:
    variables = [as_tensor_variable(x) for x in args]
    if len(variables) < 2 or any(x.ndim != 2 for x in variables):
        msg = f"{what}: two matrices or more are needed, got {', '.join(str(x.type) for x in variables) or 'none'}."
        raise TensorTypeError(msg)
    return variables


def horizontal_stack(*args: TensorLike) -> TensorVariable:
    """Put matrices side by side.

    Examples
    --------
    >>> tt.horizontal_stack(np.ones((2, 1)), np.zeros((2, 2))).eval()
    array([[1., 0., 0.],
           [1., 0., 0.]])
    """
    return concatenate(_matrices("horizontal_stack", args), 1)


def vertical_stack(*args: TensorLike) -> TensorVariable:
    """Put matrices on top of one another.

    Examples
    --------
    >>> tt.vertical_stack(np.ones((1, 2)), np.zeros((1, 2))).eval()
    array([[1., 1.],
           [0., 0.]])
    """
    return concatenate(_matrices("vertical_stack", args), 0)


def concat_with_broadcast(tensor_list: Sequence[TensorLike], axis: int = 0) -> TensorVariable:
    """Put tensors one after another, broadcast against each other in all dimensions but that axis.

    Raises
    ------
    TensorTypeError
        If the ranks differ, or there are no tensors.
    ShapeError
        If the other lengths are known not to broadcast together.

    Examples
    --------
    >>> tt.concat_with_broadcast([np.ones((1, 2)), np.zeros((3, 1))], axis=1).eval().shape
    (3, 3)
    """
    variables = [as_tensor_variable(x) for x in as_items("concat_with_broadcast: the tensors", tensor_list)]
    if len({x.ndim for x in variables}) != 1 or variables[0].ndim == 0:
        types = ", ".join(str(x.type) for x in variables) or "none"
        msg = f"concat_with_broadcast: tensors of one rank, 1 or more, are needed, got {types}. Add dimensions."
        raise TensorTypeError(msg)
    at = normalize_axis("concat_with_broadcast", axis, variables[0].ndim)
    others = [[n for d, n in enumerate(lengths(x)) if d != at] for x in variables]
    common = common_lengths("concat_with_broadcast", others)
    if len(variables) == 1:
        return variables[0]
    return concatenate([alloc(x, *common[:at], lengths(x)[at], *common[at:]) for x in variables], at)


def unstack(x: TensorLike, /, *, axis: int = 0) -> tuple[TensorVariable, ...]:
    """Return the parts of a tensor at each position of an axis of known length (as numpy.unstack).

    Raises
    ------
    ShapeError
        If the length of the axis is not known.

    Examples
    --------
    >>> [row.eval() for row in tt.unstack([[1, 2], [3, 4]])]
    [array([1, 2]), array([3, 4])]
    """
    var = as_tensor_variable(x)
    if var.ndim == 0:
        msg = f"unstack: a tensor of rank 1 or more is needed, got {var} of type {var.type}."
        raise ShapeError(msg)
    at = normalize_axis("unstack", axis, var.ndim)
    n = var.type.shape[at]
    if n is None:
        msg = f"unstack: the length of axis {at} of {var} of type {var.type} must be known. Say it by specify_shape."
        raise ShapeError(msg)
    var = held(var, at)
    return tuple(var[at_axis(at, i)] for i in range(n))


def stacklists(arg: TensorLike | Sequence[object]) -> TensorVariable:
    """Return nested lists of tensors as one tensor, each level of lists a dimension (as numpy.array).

    Examples
    --------
    >>> tt.stacklists([[1, 2], [3, 4]]).eval()
    array([[1, 2],
           [3, 4]])
    """
    return _stacked(arg, 0)


def _stacked(arg: TensorLike | Sequence[object], depth: int) -> TensorVariable:
    if depth > _DEEPEST:
        msg = f"stacklists: lists must be nested {_DEEPEST} deep at most, got {text_of(arg)}. Flatten them."
        raise ShapeError(msg)
    if isinstance(arg, list | tuple):
        return stack([_stacked(item, depth + 1) for item in arg])
    return as_tensor_variable(arg)  # type: ignore[arg-type]  # refuses anything else


def block(arrays: TensorLike | Sequence[object]) -> TensorVariable:
    """Put together a tensor of blocks given as nested lists: the innermost along the last axis (as numpy.block).

    Raises
    ------
    ShapeError
        If the lists are nested to different depths, or one is empty.

    Examples
    --------
    >>> tt.block([[np.eye(1), np.zeros((1, 1))]]).eval()
    array([[1., 0.]])
    """
    depth = _depth(arrays)
    ndim = max(depth, _most_dimensions(arrays))
    return _assembled(arrays, depth, ndim)


def _depth(arrays: object, above: int = 0) -> int:
    """Return how deep lists are nested."""
    if above > _DEEPEST:
        msg = f"block: lists must be nested {_DEEPEST} deep at most, got {text_of(arrays)}. Flatten them."
        raise ShapeError(msg)
    if isinstance(arrays, tuple):
        msg = f"block: only lists can be used to arrange blocks, got the tuple {text_of(arrays)}. Make it a list."
        raise TensorTypeError(msg)
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(item, above + 1) for item in arrays}
    if len(depths) != 1:
        received = "no blocks" if not depths else f"depths {sorted(depths)}"
        msg = f"block: lists must not be empty and nested to one depth, got {received} in {text_of(arrays)}."
        raise ShapeError(msg)
    return 1 + depths.pop()


def _most_dimensions(arrays: object) -> int:
    if isinstance(arrays, list):
        return max(map(_most_dimensions, arrays))
    return as_tensor_variable(arrays).ndim  # type: ignore[arg-type]  # refuses anything else


def _assembled(arrays: object, depth: int, ndim: int) -> TensorVariable:
    if isinstance(arrays, list):
        return concatenate([_assembled(item, depth - 1, ndim) for item in arrays], -depth)
    x = as_tensor_variable(arrays)  # type: ignore[arg-type]  # refuses anything else
    return shape_padleft(x, ndim - x.ndim)
