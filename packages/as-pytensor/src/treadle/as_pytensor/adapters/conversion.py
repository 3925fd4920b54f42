"""Conversion to tensors with the keyword that tensors with named dimensions need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle import tensor
from treadle.as_pytensor.adapters.vectors import vector_of
from treadle.graph import Variable
from treadle.named import tensor_from_xtensor
from treadle.tensor import TensorConstant

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from treadle.tensor import TensorLike, TensorVariable


def as_tensor_variable(
    x: TensorLike,
    name: str | None = None,
    ndim: int | None = None,
    *,
    allow_xtensor_conversion: bool = False,
    **kwargs: str,
) -> TensorVariable:
    """Return `x` as a tensor variable, as `treadle.tensor.as_tensor_variable` does.

    Raises
    ------
    TypeError
        If it has named dimensions, and they are not to be dropped.
    """
    dims = getattr(x.type, "dims", None) if isinstance(x, Variable) else None
    if dims is None:
        vector = None if kwargs.get("dtype") is not None or ndim not in {None, 1} else vector_of(x)
        return tensor.as_tensor_variable(x if vector is None else vector, name, ndim, **kwargs)
    if not allow_xtensor_conversion:
        msg = (
            f"as_tensor_variable: {x} has the named dimensions {dims}, which a plain tensor has not. Take x.values, or "
            "pass allow_xtensor_conversion=True."
        )
        raise TypeError(msg)
    return tensor.as_tensor_variable(tensor_from_xtensor(x), name, ndim, **kwargs)


as_tensor = as_tensor_variable


def constant(
    x: TensorLike, name: str | None = None, ndim: int | None = None, dtype: DTypeLike | None = None
) -> TensorConstant:
    """Return a constant, as `treadle.tensor.constant` does; of a constant, it itself if it is as asked for."""
    if isinstance(x, TensorConstant):
        if name in {None, x.name} and ndim in {None, x.ndim} and dtype in {None, x.dtype}:
            return x
        x = x.data
    return tensor.constant(x, name, ndim, dtype)
