"""Casts, copies, and the choice between two values."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from treadle.graph import Form
from treadle.tensor.broadcasting import zeros_like
from treadle.tensor.conversion import as_tensor_variable
from treadle.tensor.dtype_rules import check_conversion, promote, same
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.scalar_op import ScalarOp
from treadle.tensor.types import DTYPES, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.dtype_rules import Dtype, DtypeRule, Operand, Signature
    from treadle.tensor.variable import TensorLike, TensorVariable


__all__ = [
    "CASTS",
    "cast",
    "fill",
    "identity",
    "second",
    "switch",
    "tensor_copy",
    "where",
]


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


identity = Elemwise(
    ScalarOp(
        name="identity", nin=1, ufunc="positive", dtypes=same, impl=_copy, idempotent=True, inverse="identity",
        parity="odd", monotone="increasing", pullback=lambda ct, out, xs: (ct,),
    )
)  # fmt: skip
second = Elemwise(ScalarOp(name="second", dtypes=_second_dtypes, impl=_second, pullback=lambda ct, out, xs: (None, ct)))
switch: Elemwise = Elemwise(
    ScalarOp(
        name="switch", nin=3, dtypes=_switch_dtypes, impl=np.where,
        pullback=lambda ct, out, xs: (None, switch(xs[0], ct, zeros_like(ct)), switch(xs[0], zeros_like(ct), ct)),
    )
)  # fmt: skip


def _cast_op(dtype: str) -> Elemwise:
    kind = np.dtype(dtype)
    return Elemwise(
        ScalarOp(
            name=f"cast_{dtype}", dtypes=_cast_rule(kind), impl=_cast_impl(kind), form=partial(_as_type, dtype),
            idempotent=True, pullback=(lambda ct, out, xs: (ct,)) if kind.kind in "fc" else None,
        )
    )  # fmt: skip


CASTS = {dtype: _cast_op(dtype) for dtype in DTYPES}
tensor_copy = identity
fill = second


def cast(x: TensorLike, dtype: object) -> TensorVariable:
    """Convert a tensor to another dtype; a tensor that has it already is returned unchanged.

    Parameters
    ----------
    x
        A tensor or number.
    dtype
        Name of a dtype, a NumPy dtype, or ``floatX``.
    """
    var = as_tensor_variable(x)
    name = TensorType(dtype).dtype
    if var.dtype == name:
        return var
    result: TensorVariable = CASTS[name](var)
    return result


def where(condition: object, x: object, y: object) -> TensorVariable:
    """Choose `x` where the condition holds, else `y` (as numpy.where with three arguments)."""
    result: TensorVariable = switch(condition, x, y)
    return result


def as_float(x: Variable) -> TensorVariable:
    """Return a tensor as floating point: integers and bool become what NumPy's true division makes of them."""
    var = as_tensor_variable(x)
    return var if var.type.numpy_dtype.kind in "fc" else cast(var, "float64")
