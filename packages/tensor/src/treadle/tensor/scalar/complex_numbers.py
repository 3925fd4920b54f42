"""Parts of complex numbers, and complex numbers from their parts.

The gradient of a real cost with respect to z = a + ib is d/da + i d/db, so what flows back from a part is that part
of what flows back to z. None of these functions is differentiable as a function of a complex variable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Form
from treadle.tensor.broadcasting import zeros_like
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.scalar.arithmetic import mul, true_div
from treadle.tensor.scalar.cast import switch
from treadle.tensor.scalar.comparison import eq
from treadle.tensor.scalar.trigonometric import cos, sin
from treadle.tensor.scalar_op import ScalarOp, of_ufunc, promote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.scalar_op import Dtype, Operand, Signature
    from treadle.tensor.variable import TensorVariable

    Terms = Sequence[Variable | None]


def _part_dtype(dtype: Dtype) -> Dtype:
    return np.empty(0, dtype).real.dtype


def _part_dtypes(operands: Sequence[Operand]) -> Signature:
    dtype = promote(operands)
    return (dtype,), _part_dtype(dtype)


def _angle_dtypes(operands: Sequence[Operand]) -> Signature:
    """Dtype rule of numpy.angle: of a real number it is arctan2(0, x)."""
    dtype = promote(operands)
    if dtype.kind == "c":
        return (dtype,), _part_dtype(dtype)
    (_, loop), out = of_ufunc("arctan2")((int, dtype))
    return (loop,), out


def _complex_dtypes(operands: Sequence[Operand]) -> Signature:
    """Dtype rule of a + 1j * b for real operands."""
    if any(d is complex or (isinstance(d, np.dtype) and d.kind == "c") for d in operands):
        msg = "complex: the parts of a complex number are real"
        raise TypeError(msg)
    out = np.result_type(promote(operands), 1j)
    return (_part_dtype(out),) * len(operands), out


def _part(name: str) -> Callable[[Any], Any]:
    return lambda x: np.array(getattr(x, name))


def _complex(a: Any, b: Any) -> Any:
    """Put parts together; a + 1j * b would make NaN of infinite parts."""
    made = np.empty(np.broadcast_shapes(a.shape, b.shape), np.result_type(a, 1j))
    made.real, made.imag = a, b
    return made


def _imag_terms(ct: Any, out: Any, xs: Any) -> Terms:
    del out
    return (complex_(zeros_like(ct), ct) if xs[0].dtype.startswith("complex") else zeros_like(ct),)


def _conj_terms(ct: Any, out: Any, xs: Any) -> Terms:
    del out, xs
    return (ct.conj(),)


def _complex_terms(ct: Any, out: Any, xs: Any) -> Terms:
    del out, xs
    return ct.real, ct.imag


def _angle_terms(ct: Any, out: Any, xs: Any) -> Terms:
    """I / conj(z); 0 where z is 0, and for real numbers."""
    del out
    z = xs[0]
    if not z.dtype.startswith("complex"):
        return (zeros_like(ct),)
    zero = eq(z, 0)
    turned = true_div(complex_(zeros_like(ct), ct), switch(zero, 1, z).conj())
    return (switch(zero, 0, turned),)


def _member(name: str) -> Callable[[Sequence[Variable]], Form]:
    return lambda operands: Form.member(operands[0], name)


real: Elemwise = Elemwise(
    ScalarOp(
        "real",
        1,
        _part_dtypes,
        _part("real"),
        {"fiub": "{0}"},
        lambda ct, out, xs: (ct,),
        idempotent=True,
        holomorphic=False,
        form=_member(".real"),
    )
)
imag: Elemwise = Elemwise(
    ScalarOp(
        "imag",
        1,
        _part_dtypes,
        _part("imag"),
        {"fiub": "0"},
        _imag_terms,
        holomorphic=False,
        form=_member(".imag"),
    )
)
conj: Elemwise = Elemwise(
    ScalarOp(
        "conj",
        1,
        of_ufunc("conjugate"),
        np.conjugate,
        {"fiu": "{0}"},
        _conj_terms,
        ufunc="conjugate",
        holomorphic=False,
    )
)
angle: Elemwise = Elemwise(
    ScalarOp(
        "angle",
        1,
        _angle_dtypes,
        np.angle,
        {"f": "atan2{s}(0, {0})"},
        _angle_terms,
        holomorphic=False,
        cost=40,
    )
)
complex_: Elemwise = Elemwise(
    ScalarOp(
        "complex",
        2,
        _complex_dtypes,
        _complex,
        {},
        _complex_terms,
        holomorphic=False,
    )
)

conjugate = conj


def complex_from_polar(abs: Any, angle: Any) -> TensorVariable:
    """Return the complex number of an absolute value and an angle in radians."""
    result: TensorVariable = complex_(mul(abs, cos(angle)), mul(abs, sin(angle)))
    return result
