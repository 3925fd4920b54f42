"""Constants, as NumPy names them, and the types of scalars, vectors and matrices by kind of number."""

from __future__ import annotations

from math import e, inf, nan, pi

from treadle.tensor.types.tensor_type import TensorType

__all__ = [
    "complex_matrix_types", "complex_scalar_types", "complex_types", "complex_vector_types", "e", "euler_gamma",
    "float_matrix_types", "float_scalar_types", "float_types", "float_vector_types", "inf", "int_matrix_types",
    "int_scalar_types", "int_types", "int_vector_types", "nan", "newaxis", "pi",
]  # fmt: skip

euler_gamma = 0.5772156649015329
newaxis = None

_INTEGERS = ("int8", "int16", "int32", "int64")
_FLOATS = ("float32", "float64")
_COMPLEX = ("complex64", "complex128")


def _types(dtypes: tuple[str, ...], ndim: int) -> tuple[TensorType, ...]:
    return tuple(TensorType(dtype, (None,) * ndim) for dtype in dtypes)


int_types = int_scalar_types = _types(_INTEGERS, 0)
int_vector_types = _types(_INTEGERS, 1)
int_matrix_types = _types(_INTEGERS, 2)
float_types = float_scalar_types = _types(_FLOATS, 0)
float_vector_types = _types(_FLOATS, 1)
float_matrix_types = _types(_FLOATS, 2)
complex_types = complex_scalar_types = _types(_COMPLEX, 0)
complex_vector_types = _types(_COMPLEX, 1)
complex_matrix_types = _types(_COMPLEX, 2)
