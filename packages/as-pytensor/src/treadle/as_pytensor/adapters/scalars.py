"""Scalar ops under PyTensor's names: those of treadle's elementwise functions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import treadle.tensor
from treadle.tensor import Elemwise, cast

if TYPE_CHECKING:
    from treadle.tensor.elementwise.composite import Composite
    from treadle.tensor.elementwise.scalar_op import ScalarOp

# The names of treadle's functions where PyTensor's are others.
_OTHERS = {
    "floor_div": "int_div",
    "scalar_abs": "abs",
    "scalar_maximum": "maximum",
    "scalar_minimum": "minimum",
}


class ComplexError(NotImplementedError):
    """A function is not there for complex numbers."""


class IntegerDivisionError(Exception):
    """Integers are divided where the option ``int_division`` says to refuse that."""


def __getattr__(name: str) -> ScalarOp | Composite:
    function = getattr(treadle.tensor, _OTHERS.get(name, name), None)
    if name.startswith("__") or not isinstance(function, Elemwise):
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return function.scalar_op


convert_to_bool, convert_to_complex64, convert_to_complex128 = (
    partial(cast, dtype=dtype) for dtype in ("bool", "complex64", "complex128")
)
convert_to_float16, convert_to_float32, convert_to_float64 = (
    partial(cast, dtype=f"float{bits}") for bits in (16, 32, 64)
)
convert_to_int8, convert_to_int16, convert_to_int32, convert_to_int64 = (
    partial(cast, dtype=f"int{bits}") for bits in (8, 16, 32, 64)
)
convert_to_uint8, convert_to_uint16, convert_to_uint32, convert_to_uint64 = (
    partial(cast, dtype=f"uint{bits}") for bits in (8, 16, 32, 64)
)
