"""Casts, copies, and the choice between two values."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, overload

import numpy as np

from treadle.config import alias
from treadle.graph import Form
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.elementwise.scalar_op import SCALAR_OPS, ScalarOp, ScalarOpKind
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.dtype_rules import check_conversion, promote, same
from treadle.tensor.types.tensor_type import DTYPES, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.types.dtype_rules import Dtype, DtypeRule, Operand, Signature
    from treadle.tensor.variables.variable import TensorLike, TensorVariable


__all__ = ["CASTS", "cast", "fill", "identity", "second", "switch", "tensor_copy", "where"]


def _copy(x: np.ndarray) -> np.ndarray:
    return np.array(x)


def _switch_dtypes(operands: Sequence[Operand]) -> Signature:
    dtype = promote(operands[1:])
    return (np.dtype(bool), dtype, dtype), dtype


def _second_dtypes(operands: Sequence[Operand]) -> Signature:
    first, second = (promote([d]) if not isinstance(d, np.dtype) else d for d in operands)
    return (first, second), second


def _second(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array(np.broadcast_to(y, np.broadcast_shapes(x.shape, y.shape)))


def _cast_rule(dtype: Dtype) -> DtypeRule:
    def resolve(operands: Sequence[Operand]) -> Signature:
        source = promote(operands)
        check_conversion("cast", source, dtype)
        return (source,), dtype

    return resolve


def _cast_impl(dtype: Dtype) -> Callable[[np.ndarray], np.ndarray]:
    def convert(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return x.astype(dtype)

    return convert


def _as_type(dtype: str, operands: Sequence[Variable]) -> Form:
    return Form.method(operands[0], "astype", [repr(dtype)])


identity = elementwise(
    name="identity", nin=1, ufunc="positive", cheap=True, dtypes=same, impl=_copy, idempotent=True, inverse="identity",
    latex="#1",
    parity="odd", monotone="increasing", pullback=lambda ct, out, xs: (ct,), linear=(0,), selective=True,
    keeps_positive=True, wraps=True, conjugates=True,
)  # fmt: skip
second = elementwise(
    name="second", latex="#2", cheap=True, dtypes=_second_dtypes, impl=_second, pullback=lambda ct, out, xs: (None, ct)
)
switch: Elemwise = elementwise(
    name="switch", nin=3, cheap=True, dtypes=_switch_dtypes, impl=np.where,
    latex=r"\begin{cases} #2 & \text{if } #1 \\ #3 & \text{otherwise} \end{cases}",
    pullback=lambda ct, out, xs: (None, switch(xs[0], ct, zeros_like(ct)), switch(xs[0], zeros_like(ct), ct)),
)  # fmt: skip


class Cast(ScalarOp, metaclass=ScalarOpKind):
    """The conversion to a dtype, ``Cast("float32")``: the class of all of them."""

    __slots__ = ()
    names = ()

    @classmethod
    def named(cls, *parameters: object) -> ScalarOp:
        """Return the conversion to a dtype, or to that of a type."""
        if len(parameters) != 1:
            return ScalarOpKind.named(cls)
        (dtype,) = parameters
        return SCALAR_OPS[f"cast_{TensorType(getattr(dtype, 'dtype', dtype)).dtype}"]

    @property
    def o_type(self) -> TensorType:
        """The type that a scalar is converted to."""
        return TensorType(self.name.removeprefix("cast_"), ())


def _cast_op(dtype: str) -> Elemwise:
    kind = np.dtype(dtype)
    scalar_op = Cast.made(
        name=f"cast_{dtype}", cheap=True, dtypes=_cast_rule(kind), impl=_cast_impl(kind), form=partial(_as_type, dtype),
        latex="#1",
        idempotent=True, parity="odd" if kind.kind in "fc" else None,
        pullback=(lambda ct, out, xs: (ct,)) if kind.kind in "fc" else None,
    )  # fmt: skip
    return Elemwise(scalar_op)


CASTS = {dtype: _cast_op(dtype) for dtype in DTYPES}
tensor_copy = alias(identity, "tensor_copy")
fill = alias(second, "fill")


def cast(x: TensorLike, dtype: object) -> TensorVariable:
    """Convert a tensor to another dtype; a tensor that has it already is returned unchanged.

    Parameters
    ----------
    x
        A tensor or number.
    dtype
        Name of a dtype, a NumPy dtype, or ``floatX``.

    Examples
    --------
    >>> tt.cast([1.7, -1.7], "int64").eval()
    array([ 1, -1])
    """
    var = as_tensor_variable(x)
    name = TensorType(dtype).dtype
    if var.dtype == name:
        return var
    result: TensorVariable = CASTS[name](var)
    return result


@overload
def where(condition: TensorLike) -> tuple[TensorVariable, ...]: ...


@overload
def where(condition: TensorLike, x: TensorLike | None, y: TensorLike | None) -> TensorVariable: ...


def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None
) -> TensorVariable | tuple[TensorVariable, ...]:
    """Choose `x` where the condition holds, else `y`; without them, return the positions where it holds.

    As numpy.where: with one argument it is `nonzero`, one vector for each dimension.

    Raises
    ------
    TensorTypeError
        If only one of `x` and `y` is given.

    Examples
    --------
    >>> tt.where([True, False], 1.0, 2.0).eval()
    array([1., 2.])
    """
    if x is None and y is None:
        return as_tensor_variable(condition).nonzero()
    if x is None or y is None:
        msg = "where: either both or neither of x and y are needed, got one of them. Pass both, or the condition alone."
        raise TensorTypeError(msg)
    return switch(condition, x, y)


def as_float(x: Variable) -> TensorVariable:
    """Return a tensor as floating point: integers and bool get the dtype of NumPy's true division."""
    var = as_tensor_variable(x)
    return var if var.type.numpy_dtype.kind in "fc" else cast(var, "float64")
