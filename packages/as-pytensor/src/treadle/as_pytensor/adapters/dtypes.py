"""Lists of dtypes by kind, and the dtypes of the results of functions of scalars."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import config
from treadle.scalar import get_scalar_type
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.scalar import ScalarType

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["uint8", "uint16", "uint32", "uint64"]
integer_dtypes = [*int_dtypes, *uint_dtypes]
discrete_dtypes = ["bool", *integer_dtypes]
float_dtypes = ["float16", "float32", "float64"]
complex_dtypes = ["complex64", "complex128"]
continuous_dtypes = [*float_dtypes, *complex_dtypes]
all_dtypes = [*discrete_dtypes, *continuous_dtypes]
LOCAL_BITWIDTH = PYTHON_INT_BITWIDTH = 64 if sys.maxsize > 2**32 else 32
ubscalar, uwscalar, uiscalar, ulscalar = (TensorType(dtype, shape=()) for dtype in uint_dtypes)


def _joined(*types: ScalarType) -> np.dtype:
    return np.result_type(*(kind.dtype for kind in types))


def _of(dtype: object) -> tuple[ScalarType]:
    return (get_scalar_type(np.dtype(dtype).name),)  # type: ignore[call-overload]  # a dtype


def _refused(rule: Callable[..., object], *types: ScalarType) -> TypeError:
    return TypeError(
        f"{rule.__name__}: there is no result for operands of dtype {', '.join(kind.dtype for kind in types)}."
    )


def upcast_out(*types: ScalarType) -> tuple[ScalarType]:
    """Return the type that holds all operands."""
    return _of(_joined(*types))


def upcast_out_nobool(*types: ScalarType) -> tuple[ScalarType]:
    """Return the type that holds all operands, which are not all bool."""
    (kind,) = upcast_out(*types)
    if kind.dtype == "bool":
        raise _refused(upcast_out_nobool, *types)
    return (kind,)


def upcast_out_min8(*types: ScalarType) -> tuple[ScalarType]:
    """Return the type that holds all operands; int8 for bool."""
    (kind,) = upcast_out(*types)
    return _of("int8") if kind.dtype == "bool" else (kind,)


def upcast_out_no_complex(*types: ScalarType) -> tuple[ScalarType]:
    """Return the type that holds all operands, none of which is complex."""
    if any(kind.dtype in complex_dtypes for kind in types):
        raise _refused(upcast_out_no_complex, *types)
    return upcast_out(*types)


def same_out(operand: ScalarType) -> tuple[ScalarType]:
    """Return the type of the operand."""
    return (operand,)


def same_out_nobool(operand: ScalarType) -> tuple[ScalarType]:
    """Return the type of the operand, which is not bool."""
    if operand.dtype == "bool":
        raise _refused(same_out_nobool, operand)
    return (operand,)


def same_out_min8(operand: ScalarType) -> tuple[ScalarType]:
    """Return the type of the operand; int8 for bool."""
    return _of("int8") if operand.dtype == "bool" else (operand,)


def same_out_nocomplex(operand: ScalarType) -> tuple[ScalarType]:
    """Return the type of the operand, which is not complex."""
    if operand.dtype in complex_dtypes:
        raise _refused(same_out_nocomplex, operand)
    return (operand,)


def same_out_float_only(operand: ScalarType) -> tuple[ScalarType]:
    """Return the type of the operand, which is a float."""
    if operand.dtype not in float_dtypes:
        raise _refused(same_out_float_only, operand)
    return (operand,)


def real_out(operand: ScalarType) -> tuple[ScalarType]:
    """Return the type of the real part of the operand."""
    return _of(np.dtype(operand.dtype).type(0).real.dtype)


def int_out(*types: ScalarType) -> tuple[ScalarType]:
    """Return int64."""
    del types
    return _of("int64")


def float_out(*types: ScalarType) -> tuple[ScalarType]:
    """Return float64."""
    del types
    return _of("float64")


def upgrade_to_float64(*types: ScalarType) -> tuple[ScalarType]:
    """Return float64."""
    return float_out(*types)


def upgrade_to_float(*types: ScalarType) -> tuple[ScalarType]:
    """Return the float or complex type of functions such as exp: float32 for integers of up to 16 bits."""
    joined = [np.dtype("float32" if np.dtype(k.dtype).itemsize <= 2 else "float64") if k.dtype in discrete_dtypes
              else np.dtype(k.dtype) for k in types]  # fmt: skip
    return _of(np.result_type(*joined))


class specific_out:  # noqa: N801 - the name in PyTensor
    """A rule for the types of results that are always the same."""

    def __init__(self, *spec: ScalarType) -> None:
        self.spec = spec

    def __call__(self, *types: ScalarType) -> tuple[ScalarType, ...]:
        """Return the types."""
        del types
        return self.spec

    def __eq__(self, other: object) -> bool:
        return isinstance(other, specific_out) and self.spec == other.spec

    def __hash__(self) -> int:
        return hash((specific_out, self.spec))


def linalg_output_dtype(*input_dtypes: np.dtype | str) -> str:
    """Return the dtype in which LAPACK computes with operands: float32, float64, complex64 or complex128."""
    return np.result_type(*(_of_lapack(np.dtype(dtype)) for dtype in input_dtypes)).name


def linalg_real_output_dtype(*input_dtypes: np.dtype | str) -> str:
    """Return the dtype of real results of LAPACK, such as singular values."""
    return str(np.dtype(linalg_output_dtype(*input_dtypes)).type(0).real.dtype)


def _of_lapack(dtype: np.dtype) -> np.dtype:
    if dtype.kind == "c":
        return np.dtype("complex64" if dtype.itemsize <= 8 else "complex128")
    short = 4 if dtype.kind == "f" else 2
    return np.dtype("float32" if dtype.itemsize <= short else "float64")


def values_eq_approx(
    a: np.ndarray,
    b: np.ndarray,
    allow_remove_inf: bool = False,
    allow_remove_nan: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
) -> bool:
    """Whether two arrays of one dtype and shape are equal up to rounding.

    Where `a` is infinite or NaN, `b` may be anything if `allow_remove_inf` or `allow_remove_nan` says so.
    """
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    tolerance = {2: 5e-3, 4: 1e-5}.get(a.dtype.itemsize // (2 if a.dtype.kind == "c" else 1), 1e-8)
    tolerance = max(tolerance, 1e-5) if config.tensor__cmp_sloppy == 0 else 1e-3
    close = np.isclose(a, b, rtol=tolerance if rtol is None else rtol, atol=tolerance if atol is None else atol,
                       equal_nan=True)  # fmt: skip
    if allow_remove_inf:
        close |= np.isinf(a)
    if allow_remove_nan:
        close |= np.isnan(a)
    return bool(close.all())


def values_eq_approx_remove_inf(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are about equal where `a` is not infinite."""
    return values_eq_approx(a, b, allow_remove_inf=True)


def values_eq_approx_remove_nan(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are about equal where `a` is not NaN."""
    return values_eq_approx(a, b, allow_remove_nan=True)


def values_eq_approx_remove_inf_nan(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are about equal where `a` is finite."""
    return values_eq_approx(a, b, allow_remove_inf=True, allow_remove_nan=True)
