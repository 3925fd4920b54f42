"""Parts of complex numbers, and complex numbers from their parts.

The gradient of a real cost with respect to z = a + ib is d/da + i d/db, so what flows back from a part is that part
of what flows back to z. None of these functions is differentiable as a function of a complex variable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.config import alias
from treadle.graph import Form, as_flag
from treadle.tensor.arguments.values import as_number
from treadle.tensor.elementwise.arithmetic import mul, true_div
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, neq
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.elementwise.trigonometric import arctan2, cos, rad2deg, sin
from treadle.tensor.errors import DtypeError
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.dtype_rules import of_ufunc, promote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable
    from treadle.tensor.elementwise.scalar_op import Inputs, Terms
    from treadle.tensor.types.dtype_rules import Dtype, Operand, Signature
    from treadle.tensor.variables.variable import TensorLike, TensorVariable


__all__ = [
    "angle", "complex_from_polar", "conj", "conjugate", "imag", "iscomplex", "iscomplexobj", "isreal", "isrealobj",
    "real", "real_if_close",
]  # fmt: skip


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


def _complex(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Put parts together; a + 1j * b would make NaN of infinite parts."""
    number = np.empty(np.broadcast_shapes(a.shape, b.shape), np.result_type(a, 1j))
    number.real, number.imag = a, b
    return number


def _imag_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    return (complex_(zeros_like(ct), ct) if xs[0].dtype.startswith("complex") else zeros_like(ct),)


def _angle_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    """I / conj(z); 0 where z is 0, and for real numbers."""
    z = xs[0]
    if not z.dtype.startswith("complex"):
        return (zeros_like(ct),)
    zero = eq(z, 0)
    turned = true_div(complex_(zeros_like(ct), ct), switch(zero, 1, z).conj())
    return (switch(zero, 0, turned),)


def _member(name: str) -> Callable[[Sequence[Variable]], Form]:
    return lambda operands: Form.member(operands[0], name)


real = elementwise(
    name="real", cheap=True, dtypes=_part_dtypes, impl=lambda z: np.array(z.real), form=_member(".real"),
    latex=r"\operatorname{Re}\left(#1\right)",
    idempotent=True, holomorphic=False, pullback=lambda ct, out, xs: (ct,),
)  # fmt: skip
imag = elementwise(
    name="imag", cheap=True, dtypes=_part_dtypes, impl=lambda z: np.array(z.imag), form=_member(".imag"),
    latex=r"\operatorname{Im}\left(#1\right)",
    holomorphic=False, pullback=_imag_terms,
)  # fmt: skip
conj = elementwise(
    name="conj", ufunc="conjugate", inverse="conj", holomorphic=False, pullback=lambda ct, out, xs: (ct.conj(),),
    latex=r"\overline{#1}",
    parity="odd", conjugates=True, cheap=True,
)  # fmt: skip
_angle = elementwise(
    name="angle", dtypes=_angle_dtypes, impl=np.angle, body=lambda z: arctan2(imag(z), real(z)), holomorphic=False,
    pullback=_angle_terms,
)  # fmt: skip
complex_: Elemwise = elementwise(
    name="complex", cheap=True, dtypes=_complex_dtypes, impl=_complex, holomorphic=False,
    pullback=lambda ct, out, xs: (ct.real, ct.imag),
)  # fmt: skip

conjugate = alias(conj, "conjugate")


def angle(z: TensorLike, deg: bool = False) -> TensorVariable:
    """Return the angle of complex numbers, in radians or degrees (as numpy.angle).

    Examples
    --------
    >>> tt.angle([1j, -1.0 + 0j]).eval()
    array([1.57079633, 3.14159265])
    """
    radians: TensorVariable = _angle(z)
    return rad2deg(radians) if as_flag("angle: deg", deg) else radians


def iscomplexobj(x: TensorLike) -> bool:
    """Whether a tensor's dtype is complex.

    Examples
    --------
    >>> tt.iscomplexobj([1j]), tt.iscomplexobj([1.0])
    (True, False)
    """
    return bool(as_tensor_variable(x).type.numpy_dtype.kind == "c")


def isrealobj(x: TensorLike) -> bool:
    """Whether a tensor's dtype is not complex.

    Examples
    --------
    >>> tt.isrealobj([1j]), tt.isrealobj([1.0])
    (False, True)
    """
    return not iscomplexobj(x)


def iscomplex(x: TensorLike) -> TensorVariable:
    """Return where the imaginary part is not zero.

    Examples
    --------
    >>> tt.iscomplex([1j, 1.0 + 0j]).eval()
    array([ True, False])
    """
    return neq(imag(x), 0)


def isreal(x: TensorLike) -> TensorVariable:
    """Return where the imaginary part is zero.

    Examples
    --------
    >>> tt.isreal([1j, 1.0 + 0j]).eval()
    array([False,  True])
    """
    return eq(imag(x), 0)


def real_if_close(a: TensorLike, tol: float = 100) -> TensorVariable:
    """Return a tensor of real numbers itself.

    What numpy.real_if_close makes of complex numbers has a dtype that depends on their values, which an expression's
    cannot.

    Raises
    ------
    DtypeError
        For a tensor of complex numbers.

    Examples
    --------
    >>> tt.real_if_close([1.0, 2.0]).eval()
    array([1., 2.])
    """
    as_number("real_if_close: tol", tol)
    x = as_tensor_variable(a)
    if iscomplexobj(x):
        msg = (
            f"real_if_close: the dtype of the result would depend on the values, got {x} of dtype {x.dtype}. "
            "Take real(x), or compare abs(imag(x)) with a bound of your own."
        )
        raise DtypeError(msg)
    return x


def complex_from_polar(abs: object, angle: object) -> TensorVariable:
    """Return the complex number of an absolute value and an angle in radians.

    Examples
    --------
    >>> tt.complex_from_polar(2.0, 0.0).eval()
    array(2.+0.j)
    """
    return complex_(mul(abs, cos(angle)), mul(abs, sin(angle)))
