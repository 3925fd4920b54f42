"""Dtype rules: from the dtypes of a function's operands to those it computes with, and that of its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from treadle.tensor.errors import DtypeError

Dtype = np.dtype[Any]
# A dtype, or one of the classes int, float, complex: a Python number, whose dtype follows the other operands.
Operand = Dtype | type
# The dtypes to compute with, one for each operand, and the dtype of the result.
Signature = tuple[tuple[Dtype, ...], Dtype]
DtypeRule: TypeAlias = Callable[[Sequence[Operand]], Signature]


def of_ufunc(name: str) -> DtypeRule:
    """Return the dtype rule of a NumPy ufunc, exactly (Python numbers are weak, as in NumPy 2)."""
    ufunc: np.ufunc = getattr(np, name)

    def resolve(operands: Sequence[Operand]) -> Signature:
        *ins, out = ufunc.resolve_dtypes((*operands, None))
        if any(d.kind not in "biufc" for d in (*ins, out)):
            msg = f"{name}: no numeric loop"
            raise TypeError(msg)
        return tuple(ins), out

    return resolve


def promote(operands: Sequence[Operand]) -> Dtype:
    """Return the dtype that NumPy gives a mixture of operands; Python numbers alone become the default dtypes."""
    weak = {bool: False, int: 0, float: 0.0, complex: 0j}
    return np.result_type(*(weak[d] if isinstance(d, type) else d for d in operands))


def check_conversion(what: str, source: Dtype, target: Dtype) -> None:
    """Refuse to make real numbers of complex ones, except bool: whether it is zero. `what` names the subject."""
    if source.kind == "c" and target.kind not in "cb":
        msg = (
            f"{what}: a complex number does not become {target.name} by itself, got dtype {source.name}. "
            "Take its real(), imag(), angle() or abs() first."
        )
        raise DtypeError(msg)


def same(operands: Sequence[Operand]) -> Signature:
    """Dtype rule: all operands promoted together; the result has that dtype too."""
    dtype = promote(operands)
    return (dtype,) * len(operands), dtype


def float_like(operands: Sequence[Operand]) -> Signature:
    """Dtype rule of a function of real numbers: integers become the float that holds them all."""
    first = operands[0] if len(operands) == 1 else promote(operands)
    (loop, _), out = of_ufunc("logaddexp")((first, first))
    return (loop,) * len(operands), out


def quotient_of_one(operands: Sequence[Operand]) -> Signature:
    """Dtype rule of 1 / x: that of the true division of two such operands."""
    (x,) = operands
    (loop, _), out = of_ufunc("true_divide")((x, x))
    return (loop,), out


def double_first(operands: Sequence[Operand]) -> Signature:
    """Dtype rule of SciPy's functions whose first loop is float64: float32 is for operands that all have it."""
    dtypes = [promote([d]) for d in operands]
    return _special(operands, all(d == np.float32 for d in dtypes))


def single_first(operands: Sequence[Operand]) -> Signature:
    """Dtype rule of SciPy's functions whose first loop is float32: it is for operands that it holds exactly."""
    typed = [d for d in operands if not isinstance(d, type)]
    dtypes = [promote([*typed, d]) if isinstance(d, type) else d for d in operands]
    return _special(operands, all(np.can_cast(d, np.float32) for d in dtypes))


def _special(operands: Sequence[Operand], single: bool) -> Signature:
    if any(promote([d]).kind == "c" for d in operands):
        msg = "for real numbers only"
        raise TypeError(msg)
    dtype = np.dtype("float32" if single else "float64")
    return (dtype,) * len(operands), dtype


def or_complex(rule: DtypeRule) -> DtypeRule:
    """Return the dtype rule of a function of SciPy's that takes complex numbers too."""

    def resolve(operands: Sequence[Operand]) -> Signature:
        dtypes = [promote([d]) for d in operands]
        if all(d.kind != "c" for d in dtypes):
            return rule(operands)
        single = all(np.can_cast(d, np.complex64) for d in dtypes)
        dtype = np.dtype("complex64" if single else "complex128")
        return (dtype,) * len(operands), dtype

    return resolve


def predicate(operands: Sequence[Operand]) -> Signature:
    """Dtype rule of a predicate: any numbers in, bool out."""
    loops, _ = same(operands)
    return loops, np.dtype(bool)


def real_predicate(operands: Sequence[Operand]) -> Signature:
    """Dtype rule of a predicate on real numbers: any of these in, bool out."""
    loops, out = predicate(operands)
    if loops[0].kind == "c":
        msg = "no order among complex numbers"
        raise TypeError(msg)
    return loops, out
