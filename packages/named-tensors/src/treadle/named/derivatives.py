"""Jacobians and Hessians by tensors with named dimensions, taken of their plain form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import treadle.tensor as plain
from treadle.graph import graph_replace
from treadle.named.conversion import as_xtensor
from treadle.named.errors import DimsError, NamedTypeError
from treadle.named.types.casts import tensor_from_xtensor, xtensor_from_tensor
from treadle.named.types.named_type import Input, XTensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from treadle.named.variables import XTensorVariable
    from treadle.tensor import TensorVariable

__all__ = ["hessian", "jacobian"]


def jacobian(
    expression: object,
    wrt: Input,
    dims: Mapping[str, str] | None = None,
    disconnected_inputs: str = "raise",
    vectorize: bool | None = None,
    forward: bool = False,
) -> XTensorVariable:
    """Return the derivatives of each element of an expression by each element of a named tensor.

    They are those of `treadle.tensor.jacobian` for the plain tensors.

    Parameters
    ----------
    expression
        A named tensor, or what becomes one.
    wrt
        The named tensor: a variable of the graph of the expression.
    dims
        Other names for dimensions of `wrt`: needed for those that the expression has as well.
    disconnected_inputs, vectorize, forward
        As for `treadle.tensor.jacobian`.

    Returns
    -------
    A named tensor with the dimensions of the expression, then those of `wrt`.

    Raises
    ------
    NamedTypeError
        If `wrt` is no named variable.
    DimsError
        If two dimensions of the result would have one name, or `dims` names one that `wrt` does not have.
    """
    out = as_xtensor(expression)
    new = _renamed("jacobian", wrt, dims, out.type.dims)

    def of_plain(expression: TensorVariable, variable: TensorVariable) -> Input:
        return plain.jacobian(
            expression, variable, disconnected_inputs=disconnected_inputs, vectorize=vectorize, forward=forward
        )

    return _of_plain(of_plain, out, wrt, (*out.type.dims, *new))


def hessian(
    cost: object, wrt: Input, dims: Mapping[str, str] | None = None, disconnected_inputs: str = "raise"
) -> XTensorVariable:
    """Return the second derivatives of a number by the elements of a named tensor.

    They are those of `treadle.tensor.hessian` for the plain tensors, of any rank.

    Parameters
    ----------
    cost
        A named tensor without dimensions, or what becomes one.
    wrt
        The named tensor: a variable of the graph of the cost.
    dims
        Other names for all dimensions of `wrt`, for the second time that the result has them.
    disconnected_inputs
        As for `treadle.tensor.jacobian`.

    Returns
    -------
    A named tensor with the dimensions of `wrt`, then these dimensions by their other names.

    Raises
    ------
    NamedTypeError
        If `wrt` is no named variable.
    DimsError
        If the cost has dimensions, two dimensions of the result would have one name, or `dims` names one that `wrt`
        does not have.
    """
    out = as_xtensor(cost)
    if out.type.dims:
        msg = f"hessian: a cost without dimensions is needed, got {out} of type {out.type}. Sum it."
        raise DimsError(msg)
    own: tuple[str, ...] = wrt.type.dims if isinstance(getattr(wrt, "type", None), XTensorType) else ()
    new = _renamed("hessian", wrt, dims, own)

    def of_plain(expression: TensorVariable, variable: TensorVariable) -> Input:
        slope = plain.grad(expression, variable, disconnected_inputs=disconnected_inputs)
        # A slope that is the same everywhere has derivatives that are 0.
        return plain.jacobian(slope, variable, disconnected_inputs="ignore")

    return _of_plain(of_plain, out, wrt, (*own, *new))


def _renamed(what: str, wrt: Input, dims: Mapping[str, str] | None, taken: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the dimensions of `wrt` in the result, none of which may be taken already."""
    if not isinstance(getattr(wrt, "type", None), XTensorType):
        msg = (
            f"{what}: a variable with named dimensions is needed, got {wrt}. Use treadle.tensor.{what} for plain ones."
        )
        raise NamedTypeError(msg)
    names = {} if dims is None else dict(dims)
    own: tuple[str, ...] = wrt.type.dims
    absent = [d for d in names if d not in own]
    if absent:
        msg = f"{what}: {wrt} has the dimensions {own}, but dims names {absent}. Name some that it has."
        raise DimsError(msg)
    new = tuple(names.get(d, d) for d in own)
    twice = sorted({d for d in new if d in taken or new.count(d) > 1})
    if twice:
        msg = (
            f"{what}: the result would have the dimensions {(*taken, *new)}, with {', '.join(twice)} twice. Pass other "
            f"names, as dims={{{twice[0]!r}: ...}}."
        )
        raise DimsError(msg)
    return new


def _of_plain(
    of_plain: Callable[[TensorVariable, TensorVariable], Input],
    expression: XTensorVariable,
    wrt: Input,
    dims: tuple[str, ...],
) -> XTensorVariable:
    """Return a derivative as a named tensor; it is taken where a plain variable stands for `wrt`."""
    values: TensorVariable = plain.TensorType(wrt.type.dtype, wrt.type.shape).make_variable(wrt.name)
    (inner,) = graph_replace([expression], {wrt: xtensor_from_tensor(values, wrt.type.dims)}, strict=False)
    derivative = of_plain(tensor_from_xtensor(inner), values)
    (result,) = graph_replace([derivative], {values: tensor_from_xtensor(wrt)}, strict=False)
    named: XTensorVariable = xtensor_from_tensor(result, dims)
    return named
