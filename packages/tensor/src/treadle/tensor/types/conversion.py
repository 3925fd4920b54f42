"""From plain values to tensor variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import alias, config, text_of
from treadle.graph import Apply, Variable, check_name
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.types.arrays import array_of
from treadle.tensor.types.policy import number_dtype
from treadle.tensor.types.registered_conversions import CONVERSIONS
from treadle.tensor.types.tensor_type import MOST_DIMENSIONS, TensorType, as_rank
from treadle.tensor.upward import upward

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeGuard

    from numpy.typing import DTypeLike

    from treadle.tensor.variables.variable import TensorConstant, TensorLike, TensorVariable


def constant(
    x: TensorLike, name: str | None = None, ndim: int | None = None, dtype: DTypeLike | None = None
) -> TensorConstant:
    """Return a constant.

    Parameters
    ----------
    x
        A number, array or nested list of numbers. Python floats become ``floatX``, Python integers int64.
    name
        Shown when printed.
    ndim
        Rank; dimensions of length 1 are put in front to reach it.
    dtype
        Dtype to convert to.

    Raises
    ------
    TensorTypeError
        If the value is not numeric, a Python integer does not fit the dtype, or the rank is larger than `ndim`.
    MaskedArrayError
        If it is a masked array, or holds one.
    DtypeError
        If the value is complex and the dtype is not.

    Examples
    --------
    >>> tt.constant([1.0, 2.0], name="c").eval()
    array([1., 2.])
    """
    if isinstance(x, Variable):
        msg = f"constant: a plain value is needed, got the variable {x}. Use as_tensor_variable."
        raise TensorTypeError(msg, x)
    target = number_dtype(x) if dtype is None else TensorType(dtype).numpy_dtype
    array = array_of("constant", x, target, copy=True)
    if ndim is not None:
        rank = as_rank("constant: ndim", ndim)
        if array.ndim > rank:
            msg = f"constant: a value of rank {rank} at most is needed, got rank {array.ndim}. Reshape it."
            raise TensorTypeError(msg)
        array = array.reshape((1,) * (rank - array.ndim) + array.shape)
    array.flags.writeable = False
    return TensorType(array.dtype, array.shape).make_constant(array, name)


def _holds_variables(x: object, depth: int = 0) -> TypeGuard[Sequence[TensorLike]]:
    # No array is nested deeper, a list that holds itself for instance.
    if not isinstance(x, list | tuple) or depth > MOST_DIMENSIONS:
        return False
    return any(isinstance(y, Variable) or _holds_variables(y, depth + 1) for y in x)


def as_tensor_variable(
    x: TensorLike, name: str | None = None, ndim: int | None = None, dtype: DTypeLike | None = None
) -> TensorVariable:
    """Return `x` as a tensor variable.

    Parameters
    ----------
    x
        A tensor variable, a number, an array (of NumPy or another library, see `register_array`), or a nested list of
        these; or what `register_conversion` tells of.
    name
        Name of a constant that is made.
    ndim
        Rank the result must have; dimensions of length 1 are put in front to reach it.
    dtype
        Dtype of a constant that is made.

    Raises
    ------
    TensorTypeError
        If `x` is of another kind, or its rank is larger than `ndim`.

    Examples
    --------
    >>> tt.as_tensor_variable([1.0, 2.0]).eval()
    array([1., 2.])
    """
    if isinstance(x, Apply):
        x = x.out
    if isinstance(x, Variable):
        if not isinstance(x.type, TensorType):
            # Types of other values may say how they become tensors.
            convert = getattr(x.type, "as_tensor", None)
            if convert is not None:
                return as_tensor_variable(convert(x), name, ndim, dtype)
            msg = f"as_tensor_variable: a tensor is needed, got {x} of type {x.type}. Convert it first."
            raise TensorTypeError(msg, x)
        var: TensorVariable = x  # type: ignore[assignment]  # checked by its type above
        if name is not None:
            check_name("as_tensor_variable", name)
        if dtype is not None:
            TensorType(dtype)  # of a constant only, but a dtype it must be
        if ndim is None:
            return var
        rank = as_rank("as_tensor_variable: ndim", ndim)
        if var.ndim > rank:
            msg = f"as_tensor_variable: rank {rank} is needed, got {x} of rank {var.ndim}. Reshape it."
            raise TensorTypeError(msg, x)
        if var.ndim < rank:
            return var.dimshuffle(*["x"] * (rank - var.ndim), *range(var.ndim))
        return var
    convert = CONVERSIONS.find(type(x)) if CONVERSIONS else None
    if convert is not None:
        return _converted(convert, x, name, ndim, dtype)
    if _holds_variables(x):
        return upward.stack(x)
    return constant(x, name, ndim, dtype)


def _converted(
    convert: Callable[..., Any], x: Any, name: str | None, ndim: int | None, dtype: DTypeLike | None
) -> TensorVariable:
    """Return what a registered conversion makes of a value."""
    result = convert(x, name, ndim) if dtype is None else convert(x, name, ndim, dtype=dtype)
    if not isinstance(result, Variable) and CONVERSIONS.find(type(result)) is convert:
        msg = (
            f"as_tensor_variable: the conversion of {type(x).__qualname__} must return a tensor variable or an array, "
            f"got {text_of(result)}. Convert it to numbers there."
        )
        raise TensorTypeError(msg, x)
    return as_tensor_variable(result, ndim=ndim)


as_tensor = alias(as_tensor_variable, "as_tensor")


def tensors(variables: Sequence[Variable]) -> list[TensorVariable]:
    """Return the inputs or outputs of a node as the tensors that they are, for type checkers: nothing is checked.

    An op of this package takes and makes tensors only, which was checked when the node was made.

    Examples
    --------
    >>> x = tt.dvector("x")
    >>> tt.tensors([x]) == [x]
    True
    """
    return variables  # type: ignore[return-value]  # see above: a cast would cost a call


def plain_arrays(backend: str, variables: Sequence[Variable], values: Sequence[object]) -> list[np.ndarray]:
    """Return a program's arguments as arrays that machine code reads: aligned, and of NumPy's own dtypes.

    Raises
    ------
    TypeError
        If they are too few or too many, or of another dtype, rank or known length than the variables. It begins with
        the backend's name.
    """
    if len(values) != len(variables):
        msg = f"{backend}: the program takes {len(variables)} values, got {len(values)}. Give one for each input."
        raise TypeError(msg)
    arrays = []
    for var, value in zip(tensors(variables), values, strict=True):
        kind, array = var.type, np.asarray(value)
        known = all(n is None or n == m for n, m in zip(kind.shape, array.shape, strict=False))
        if array.ndim != kind.ndim or array.dtype != kind.numpy_dtype or not known:
            msg = (
                f"{backend}: the program's input {var} is of type {kind}, got {array.dtype} of shape {array.shape}. "
                "Convert it first."
            )
            raise TypeError(msg)
        # Unpickled arrays may have their own dtype object, which np.array would keep and astype does not.
        arrays.append(array.astype(np.dtype(kind.dtype), order="C"))
    return arrays


def stands_for_tensors(var: Variable) -> bool:
    """Whether values of a variable's type, which is another one, are those of tensors (see `Type.carrier`).

    Such variables may have derivatives: they have ``+`` and a method ``zeros_like``.
    """
    return not isinstance(var.type, TensorType) and isinstance(var.type.carrier(), TensorType)


def as_differentiable(x: TensorLike) -> Variable:
    """Return a value as a tensor; a variable that stands for one stays what it is."""
    return x if isinstance(x, Variable) and stands_for_tensors(x) else as_tensor_variable(x)


def is_smooth(var: Variable) -> bool:
    """Whether a variable is a tensor of real or complex floats, which alone have derivatives."""
    return isinstance(var.type, TensorType) and var.type.numpy_dtype.kind in "fc"


def zero_not_refused() -> bool:
    """Whether gradients by and through integers are numbers, by the option ``nondifferentiable``, and no error."""
    return bool(config.nondifferentiable == "zero")


def cotangent_of(x: TensorVariable, term: TensorVariable) -> TensorVariable:
    """Return what flows back to a tensor in its dtype: a real one takes the real part of what is complex.

    What flows back to integers, where anything does, is of dtype floatX.
    """
    if x.type.numpy_dtype.kind not in "fc":
        return term.real.astype(config.floatX)
    if term.type.dtype == x.type.dtype:
        return term
    part = term if x.type.numpy_dtype.kind == "c" else term.real
    return part.astype(x.dtype)


def uniform_value(var: Variable) -> float | None:
    """Return the number that every element of a real tensor is known to be, or None.

    Constants are seen through rearranged dimensions, which is how scalars are made to fit the rank of other operands.
    """
    while var.owner is not None and len(var.owner.inputs) == 1 and var.owner.op.view_map:
        var = var.owner.inputs[0]
    data = getattr(var, "data", None)
    if not isinstance(data, np.ndarray) or data.size != 1 or data.dtype.kind not in "biuf":
        return None
    return float(data.reshape(()))
