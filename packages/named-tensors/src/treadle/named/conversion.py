"""How values become tensors with named dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import text_of
from treadle.graph import Apply, Variable
from treadle.named.errors import DimsError, NamedTypeError
from treadle.named.types.casts import xtensor_from_tensor
from treadle.named.types.named_type import Input, XTensorType, as_dims, is_data_array
from treadle.tensor import as_tensor, constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from treadle.named.variables import XTensorConstant, XTensorSharedVariable, XTensorVariable


def xtensor(
    name: str | None = None,
    *,
    dims: str | Sequence[str],
    shape: Sequence[int | None] | None = None,
    dtype: DTypeLike = "floatX",
) -> XTensorVariable:
    """Return a new tensor with named dimensions, to be an input.

    Parameters
    ----------
    name
        Its name.
    dims
        Names of the dimensions.
    shape
        Their lengths, None where one is not known.
    dtype
        The dtype; ``floatX``, which the option says, by default.

    Raises
    ------
    DimsError
        If two names are the same, or there are not as many lengths as names.

    Examples
    --------
    >>> from treadle.named import xtensor
    >>> x = xtensor("x", dims=("city", "year"))
    >>> x.mean("year").dims
    ('city',)
    """
    return XTensorType(dtype, dims=dims, shape=shape).make_variable(name)  # type: ignore[return-value]  # its class


def _data_and_dims(what: str, x: Input, dims: str | Sequence[str] | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return an array and the names of its dimensions."""
    names = None if dims is None else as_dims(what, dims)
    if is_data_array(x):
        own = as_dims(what, x.dims)
        if names is not None and names != own:
            msg = f"{what}: the DataArray has dimensions {own}, but {names} are asked for. Transpose or rename it."
            raise DimsError(msg)
        return np.asarray(x.values), own
    if isinstance(x, Variable) and isinstance(x.type, XTensorType):
        msg = f"{what}: a plain value is needed, got the named tensor {x}. Pass an array and dims."
        raise NamedTypeError(msg)
    data = constant(x).data
    if names is None and data.ndim:
        msg = f"{what}: an array of {data.ndim} dimensions needs names for them, got {text_of(x)}. Pass dims."
        raise NamedTypeError(msg)
    names = names or ()
    if len(names) != data.ndim:
        msg = f"{what}: a name is needed for each of {data.ndim} dimensions, got {names}. Give as many."
        raise DimsError(msg)
    return data, names


def xtensor_constant(x: Input, name: str | None = None, dims: str | Sequence[str] | None = None) -> XTensorConstant:
    """Return a constant with named dimensions.

    Parameters
    ----------
    x
        A number, an array, a nested list, or a DataArray of xarray.
    name
        Its name.
    dims
        Names of the dimensions; not needed for a number or a DataArray.

    Raises
    ------
    NamedTypeError
        If an array comes without names.
    DimsError
        If there are more or fewer names than dimensions, or a DataArray has others.
    """
    data, names = _data_and_dims("xtensor_constant", x, dims)
    kind = XTensorType(data.dtype, dims=names, shape=data.shape)
    return kind.make_constant(data, name)  # type: ignore[return-value]  # its class


def xtensor_shared(
    x: Input,
    *,
    name: str | None = None,
    shape: Sequence[int | None] | None = None,
    dims: str | Sequence[str] | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
) -> XTensorSharedVariable:
    """Return a shared variable with named dimensions.

    Parameters
    ----------
    x
        The first value: a number, an array, or a DataArray of xarray, whose name is then the default.
    name
        Its name.
    shape
        Lengths that all values have; any are taken if it is left out.
    dims
        Names of the dimensions; not needed for a number or a DataArray.
    strict, allow_downcast
        As for `treadle.graph.shared`.
    borrow
        Whether the array given may be kept, in place of a copy.

    Raises
    ------
    NamedTypeError
        If an array comes without names.
    DimsError
        If there are more or fewer names than dimensions, or a DataArray has others.
    """
    data, names = _data_and_dims("xtensor_shared", x, dims)
    dtype: DTypeLike = "floatX" if isinstance(x, float) else data.dtype
    kind = XTensorType(dtype, dims=names, shape=shape)
    value = kind.filter(data, allow_downcast=True if isinstance(x, float) else None)
    label = name if name is not None else getattr(x, "name", None)
    value = value if borrow else kind.copy_value(value)
    variable: XTensorSharedVariable = kind.shared_type(kind, value, strict, allow_downcast, name=label)
    return variable


def as_xtensor(x: Input, dims: str | Sequence[str] | None = None, *, name: str | None = None) -> XTensorVariable:
    """Return a value as a tensor with named dimensions.

    Parameters
    ----------
    x
        A named tensor, a plain tensor, a number, an array, or a DataArray of xarray.
    dims
        Names of the dimensions; not needed for a named tensor, a scalar or a DataArray, which must have just these
        if they are given.
    name
        Name of the result, where it is a new variable.

    Raises
    ------
    NamedTypeError
        If a value with dimensions comes without names for them, or of another kind.
    DimsError
        If there are more or fewer names than dimensions, or the value has others.

    Examples
    --------
    >>> from treadle.named import as_xtensor
    >>> as_xtensor([[1, 2], [3, 4]], dims=("a", "b")).sum("a").eval().tolist()
    [4, 6]
    """
    if isinstance(x, Apply):
        x = x.out
    if not isinstance(x, Variable):
        return xtensor_constant(x, name, dims)
    names = None if dims is None else as_dims("as_xtensor", dims)
    if isinstance(x.type, XTensorType):
        if names is not None and names != x.type.dims:
            msg = f"as_xtensor: {x} has dimensions {x.type.dims}, but {names} are asked for. Transpose or rename it."
            raise DimsError(msg)
        return x  # type: ignore[return-value]  # its class
    # Variables of other types may say how they become tensors.
    x = as_tensor(x)
    if names is None and x.ndim:
        msg = f"as_xtensor: {x} of type {x.type} needs names for its dimensions. Pass dims."
        raise NamedTypeError(msg)
    result: XTensorVariable = xtensor_from_tensor(x, names or (), name)
    return result


def type_of_data_array(value: Input) -> XTensorType:
    """Return the type of a shared variable that holds a DataArray: any lengths."""
    return XTensorType(value.dtype, dims=as_dims("shared", value.dims))


# How a DataArray becomes the value of a shared variable: published as ``treadle.types``.
CONVERTERS = {"xarray.core.dataarray.DataArray": type_of_data_array}

__all__ = ["as_xtensor", "xtensor", "xtensor_constant", "xtensor_shared"]
