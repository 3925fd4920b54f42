"""Functions of floating-point numbers: parts and neighbours, roots and remainders, extrema that pass over NaN."""

from __future__ import annotations

import math
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.elementwise.arithmetic import abs_, maximum, mod, mul, neg, sign, sub, true_div
from treadle.tensor.elementwise.cast import cast, identity, switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, isinf, isnan, le, lt, neq
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.elementwise.exponential import LOG_2, exp2, log1p, power, sigmoid, sqr
from treadle.tensor.elementwise.logic import bitwise_or
from treadle.tensor.elementwise.rounding import round_half_to_even, trunc
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.dtype_rules import of_ufunc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.elementwise.scalar_op import Inputs, Terms
    from treadle.tensor.types.dtype_rules import DtypeRule, Operand, Signature
    from treadle.tensor.variables.variable import TensorLike, TensorVariable


__all__ = [
    "cbrt", "copysign", "fabs", "float_power", "fmax", "fmin", "fmod", "frexp", "heaviside", "hypot", "ldexp",
    "logaddexp2", "modf", "nextafter", "positive", "rint", "signbit", "spacing",
]  # fmt: skip

# Of float16: the number of bits after the leading one, the least exponent of a normal number, the largest number.
_HALF_BITS, _HALF_LEAST, _HALF_LARGEST = 10, -14, 65504.0


def _exponent_dtypes(operands: Sequence[Operand]) -> Signature:
    loops, _ = of_ufunc("fabs")(operands)
    return loops, np.dtype("int32")


def _only(name: str, *, half: bool) -> DtypeRule:
    """Return the dtype rule of a ufunc, for float16 only or for longer floats only."""
    rule = of_ufunc(name)

    def resolve(operands: Sequence[Operand]) -> Signature:
        signature = rule(operands)
        if (signature[1] == np.float16) != half:
            msg = "float16 and longer floats are computed apart"
            raise TypeError(msg)
        return signature

    return resolve


def _copysign_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    x, y = xs
    return mul(ct, mul(sign(x), copysign(1.0, y))), zeros_like(ct)


def _fmod_terms(ct: TensorVariable, out: TensorVariable, xs: Inputs) -> Terms:
    x, y = xs
    return ct, neg(mul(ct, true_div(sub(x, out), y)))


def _hypot_terms(ct: TensorVariable, out: TensorVariable, xs: Inputs) -> Terms:
    """X / hypot(x, y), and 0 at the origin."""
    zero = eq(out, 0)
    size = switch(zero, 1, out)
    return tuple(mul(ct, true_div(x, size)) for x in xs)


def _share(ct: TensorVariable, wins: TensorVariable, tie: TensorVariable, other: TensorVariable) -> TensorVariable:
    """Give the cotangent to the operand that wins or faces a NaN, half of it where the two are equal."""
    return switch(bitwise_or(wins, isnan(other)), ct, switch(tie, mul(ct, 0.5), zeros_like(ct)))


def _fmax_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    x, y = xs
    tie = eq(x, y)
    return _share(ct, gt(x, y), tie, y), _share(ct, gt(y, x), tie, x)


def _fmin_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    x, y = xs
    tie = eq(x, y)
    return _share(ct, lt(x, y), tie, y), _share(ct, lt(y, x), tie, x)


def _number(value: float, like: TensorVariable) -> TensorVariable:
    return constant(value, dtype=like.dtype)


def _fmod(x: TensorVariable, y: TensorVariable) -> TensorVariable:
    """Give the remainder of the absolute values the sign of x."""
    if x.type.numpy_dtype.kind == "f":
        return copysign(mod(abs_(x), abs_(y)), x)
    remainder = mod(x, y)
    if x.type.numpy_dtype.kind == "u":
        return remainder
    return switch(neq(remainder, 0) & neq(lt(remainder, 0), lt(x, 0)), remainder - y, remainder)


def _heaviside(x: TensorVariable, y: TensorVariable) -> TensorVariable:
    step = switch(gt(x, 0), _number(1, x), _number(0, x))
    return switch(isnan(x), x, switch(eq(x, 0), y, step))


def _next_half(x: TensorVariable, y: TensorVariable) -> TensorVariable:
    """Step to the next float16: the body computes in float32, where both numbers and the step are exact."""
    size = abs_(x)
    exponent = maximum(frexp_exponent(x) - 1, _HALF_LEAST)
    one = _number(1, x)
    step = ldexp(one, exponent - _HALF_BITS)
    grows = eq(gt(y, x), gt(x, 0))
    # Below a power of two, numbers are closer.
    halves = eq(size, ldexp(one, exponent)) & gt(exponent, _HALF_LEAST)
    larger = switch(eq(size, _HALF_LARGEST), inf, size + step)
    moved = switch(grows, larger, size - switch(halves, step * 0.5, step))
    least = copysign(_number(2.0 ** (_HALF_LEAST - _HALF_BITS), x), y)
    finite = switch(eq(x, 0), least, copysign(switch(isinf(x), _HALF_LARGEST, moved), x))
    return switch(bitwise_or(isnan(x), isnan(y)), x + y, switch(eq(x, y), x, finite))


def _spacing(x: TensorVariable) -> TensorVariable:
    return sub(_nextafter(x, switch(lt(x, 0), _number(-inf, x), _number(inf, x))), x)


cbrt: Elemwise = elementwise(
    ufunc="cbrt", parity="odd", monotone="increasing", pullback=lambda ct, out, xs: (true_div(ct, mul(sqr(out), 3)),),
    keeps_positive=True,
)  # fmt: skip
hypot = elementwise(
    ufunc="hypot", commutative=True, image=(0, inf), pullback=_hypot_terms, parity=("even", "even"),
    keeps_positive=True,
)  # fmt: skip
copysign: Elemwise = elementwise(ufunc="copysign", pullback=_copysign_terms, keeps_positive=True)
signbit = elementwise(ufunc="signbit", body=lambda x: lt(copysign(1.0, x), 0))
fabs = elementwise(ufunc="fabs", parity="even", image=(0, inf), idempotent=True, body=abs_, keeps_positive=True)
positive = elementwise(
    ufunc="positive", parity="odd", monotone="increasing", idempotent=True, inverse="positive", body=identity,
    linear=(0,), selective=True, keeps_positive=True, wraps=True, conjugates=True,
)  # fmt: skip
rint = elementwise(
    ufunc="rint", parity="odd", monotone="increasing", idempotent=True, discrete=True, body=round_half_to_even
)
fmod = elementwise(ufunc="fmod", body=_fmod, pullback=_fmod_terms)
fmax = elementwise(
    ufunc="fmax", commutative=True, associative=True, pullback=_fmax_terms,
    body=lambda x, y: switch(bitwise_or(ge(x, y), isnan(y)), x, y), selective=True, keeps_positive=True,
)  # fmt: skip
fmin = elementwise(
    ufunc="fmin", commutative=True, associative=True, pullback=_fmin_terms,
    body=lambda x, y: switch(bitwise_or(le(x, y), isnan(y)), x, y), selective=True, keeps_positive=True,
)  # fmt: skip
heaviside = elementwise(ufunc="heaviside", body=_heaviside)
float_power = elementwise(ufunc="float_power", body=power)
# Equal operands are computed apart: the difference of equal infinities is NaN.
logaddexp2 = elementwise(
    ufunc="logaddexp2", commutative=True, associative=True, identity=-inf,
    body=lambda x, y: switch(eq(x, y), x + 1, maximum(x, y) + log1p(exp2(-abs(x - y))) * (1 / LOG_2)),
    pullback=lambda ct, out, xs: (
        mul(ct, sigmoid(mul(sub(xs[0], xs[1]), LOG_2))), mul(ct, sigmoid(mul(sub(xs[1], xs[0]), LOG_2))),
    ), bound="upper", keeps_positive=True,
)  # fmt: skip
ldexp: Elemwise = elementwise(
    ufunc="ldexp", pullback=lambda ct, out, xs: (ldexp(ct, xs[1]), None), parity=("odd", None), linear=(0,),
    zero_of=(0,), keeps_positive=True,
)  # fmt: skip
frexp_exponent = elementwise(
    name="frexp_exponent", dtypes=_exponent_dtypes, impl=lambda x: np.frexp(x)[1], holomorphic=False
)
frexp_mantissa = elementwise(
    name="frexp_mantissa", dtypes=of_ufunc("fabs"), impl=lambda x: np.frexp(x)[0], parity="odd",
    body=lambda x: ldexp(x, neg(frexp_exponent(x))),
    pullback=lambda ct, out, xs: (ldexp(ct, neg(frexp_exponent(xs[0]))),),
)  # fmt: skip
fraction = elementwise(
    name="fraction", dtypes=of_ufunc("fabs"), impl=lambda x: np.modf(x)[0], parity="odd", image=(-1, 1),
    body=lambda x: copysign(switch(isinf(x), 0, x - trunc(x)), x), pullback=lambda ct, out, xs: (ct,),
)  # fmt: skip
# The neighbour of a number, and the distance to it, are those of its dtype; float16 is computed in float32.
_nextafter = elementwise(
    ufunc="nextafter", dtypes=_only("nextafter", half=False), pullback=lambda ct, out, xs: (ct, zeros_like(ct))
)
_nextafter_half = elementwise(
    name="nextafter_half", dtypes=_only("nextafter", half=True), impl=np.nextafter, body=_next_half,
    pullback=lambda ct, out, xs: (ct, zeros_like(ct)),
)  # fmt: skip
_spacing_of_float = elementwise(ufunc="spacing", dtypes=_only("spacing", half=False), discrete=True, body=_spacing)
_spacing_of_half = elementwise(
    name="spacing_half", dtypes=_only("spacing", half=True), impl=np.spacing, discrete=True,
    # NumPy's is the distance to the next larger float16.
    body=lambda x: switch(isinf(x), math.nan, sub(_next_half(x, _number(inf, x)), x)),
)  # fmt: skip


def _is_half(name: str, *operands: TensorLike) -> bool:
    """Whether a ufunc's result is float16; Python numbers follow the other operands."""
    kinds = [type(x) if type(x) in {int, float} else as_tensor_variable(x).type.numpy_dtype for x in operands]
    try:
        return of_ufunc(name)(kinds)[1] == np.float16
    except TypeError:
        # The scalar op refuses these dtypes by name.
        return False


def nextafter(x1: TensorLike, x2: TensorLike) -> TensorVariable:
    """Return the next number after `x1` towards `x2` (as numpy.nextafter).

    Examples
    --------
    >>> tt.nextafter(1.0, 2.0).eval() > 1.0
    np.True_
    """
    return (_nextafter_half if _is_half("nextafter", x1, x2) else _nextafter)(x1, x2)


def spacing(x: TensorLike) -> TensorVariable:
    """Return the distance of a number to the nearest one beyond it (as numpy.spacing); its gradient is zero.

    Examples
    --------
    >>> tt.spacing(1.0).eval() == np.finfo("float64").eps
    np.True_
    """
    return (_spacing_of_half if _is_half("spacing", x) else _spacing_of_float)(x)


def frexp(x: TensorLike) -> tuple[TensorVariable, TensorVariable]:
    """Return mantissa and exponent, ``x = mantissa * 2**exponent`` with a mantissa in [0.5, 1) (as numpy.frexp).

    The exponent is int32; of zeros, infinities and NaN it is 0, and the mantissa is the number itself.

    Examples
    --------
    >>> [part.eval() for part in tt.frexp([8.0, 0.75])]
    [array([0.5 , 0.75]), array([4, 0], dtype=int32)]
    """
    return frexp_mantissa(x), frexp_exponent(x)


def modf(x: TensorLike) -> tuple[TensorVariable, TensorVariable]:
    """Return the fractional and the integral part, both with the sign of `x` (as numpy.modf).

    Examples
    --------
    >>> [part.eval() for part in tt.modf([1.5, -2.25])]
    [array([ 0.5 , -0.25]), array([ 1., -2.])]
    """
    fractional = fraction(x)
    return fractional, trunc(cast(x, fractional.dtype))
