"""Helpers of PyTensor's modules of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.compile import function
from treadle.graph import Variable
from treadle.tensor import (
    NoneConst,
    NotScalarConstantError,
    TensorType,
    as_tensor_variable,
    constant,
    get_scalar_constant_value,
    second,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import DTypeLike

    from treadle.graph import FunctionGraph
    from treadle.tensor import TensorLike, TensorVariable


def full_like(a: TensorLike, fill_value: TensorLike, dtype: DTypeLike | None = None) -> TensorVariable:
    """Return a tensor of the shape of another, filled with a value; its graph depends on the other, of any rank."""
    value = as_tensor_variable(fill_value)
    return second(as_tensor_variable(a), value if dtype is None else value.astype(dtype))


def zeros_like(model: TensorLike, dtype: DTypeLike | None = None, opt: bool = False) -> TensorVariable:
    """Return zeros of the shape and dtype of a tensor; `opt` allows a constant in place of a graph."""
    return _all_like(model, 0, dtype, opt)


def ones_like(model: TensorLike, dtype: DTypeLike | None = None, opt: bool = False) -> TensorVariable:
    """Return ones of the shape and dtype of a tensor; `opt` allows a constant in place of a graph."""
    return _all_like(model, 1, dtype, opt)


def power(x: TensorLike, y: TensorLike) -> Any:
    """Return ``x**y``: of two numbers or arrays a number or an array, not a tensor."""
    base: Any = x
    return base**y


def _all_like(model: TensorLike, number: int, dtype: DTypeLike | None, opt: bool) -> TensorVariable:
    x = as_tensor_variable(model)
    value = constant(number, dtype=x.dtype if dtype is None else dtype)
    return value if opt and value.type == x.type else second(x, value)


def _number(var: Variable) -> int | None:
    try:
        number: Any = get_scalar_constant_value(var)
    except NotScalarConstantError:
        return None
    return int(number)


def infer_static_shape(
    shape: Iterable[Variable | int],
) -> tuple[list[TensorVariable], tuple[int | None, ...]]:
    """Return lengths as scalar variables, and as numbers where they are known.

    Raises
    ------
    TypeError
        If a length is not an integer scalar.
    """
    lengths = [as_tensor_variable(n) for n in shape]
    for n in lengths:
        if n.ndim or n.type.numpy_dtype.kind not in "iu":
            msg = f"infer_static_shape: lengths are integer scalars, got {n} of type {n.type}. Cast it."
            raise TypeError(msg)
    return lengths, tuple(map(_number, lengths))


def get_static_shape_from_size_variables(size_vars: Sequence[Variable]) -> tuple[int | None, ...]:
    """Return lengths as numbers, None where they are not known."""
    return tuple(map(_number, size_vars))


def as_int_none_variable(x: TensorLike | None) -> Variable:
    """Return an integer as a variable, and None as the constant that stands for it."""
    if x is None:
        return NoneConst
    var = as_tensor_variable(x)
    if var.ndim or var.type.numpy_dtype.kind not in "iu":
        msg = f"as_int_none_variable: an integer or None is needed, got {x!r}."
        raise TypeError(msg)
    return var


def shape_of_variables(
    fgraph: FunctionGraph, input_shapes: Mapping[Variable, Sequence[int]]
) -> dict[Variable, tuple[int, ...]]:
    """Return the shapes of all tensors in a graph as numbers, from those of its inputs."""
    tensors = [var for var in fgraph.variables if isinstance(var.type, TensorType)]
    inputs = list(input_shapes)
    compute = function(inputs, [var.shape for var in tensors], on_unused_input="ignore")  # type: ignore[attr-defined]
    values = [np.broadcast_to(np.zeros((), x.type.dtype), tuple(input_shapes[x])) for x in inputs]  # type: ignore[attr-defined]
    return {var: tuple(shape.tolist()) for var, shape in zip(tensors, compute(*values), strict=True)}


def get_unique_constant_value(x: TensorLike) -> object:
    """Return the number that all elements of a constant are; None if there is none."""
    return getattr(x, "unique_value", None)


def as_index_constant(a: TensorLike | slice | None) -> Variable | slice | None:
    """Return an integer of an index as a constant, and an array as a variable; None and variables stay as they are."""
    if isinstance(a, slice):
        return slice(*map(as_index_constant, (a.start, a.stop, a.step)))
    if a is None or isinstance(a, Variable):
        return a
    return as_tensor_variable(np.asarray(a, "int64") if isinstance(a, int | np.integer) else a)
