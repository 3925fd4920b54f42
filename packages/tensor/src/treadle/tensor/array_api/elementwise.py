"""Functions of each element by the array API standard: those of the package, by position only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.array_api.public import tt

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor.variables.variable import TensorLike, TensorVariable


def _of_one(name: str) -> Callable[[TensorLike], TensorVariable]:
    def function(x: TensorLike, /) -> TensorVariable:
        result: TensorVariable = getattr(tt, name)(x)
        return result

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return ``{name}(x)`` of each element, as `treadle.tensor.{name}` does."
    return function


def _of_two(name: str) -> Callable[[TensorLike, TensorLike], TensorVariable]:
    def function(x1: TensorLike, x2: TensorLike, /) -> TensorVariable:
        result: TensorVariable = getattr(tt, name)(x1, x2)
        return result

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return ``{name}(x1, x2)`` of each pair of elements, as `treadle.tensor.{name}` does."
    return function


abs = _of_one("abs")
acos = _of_one("acos")
acosh = _of_one("acosh")
asin = _of_one("asin")
asinh = _of_one("asinh")
atan = _of_one("atan")
atanh = _of_one("atanh")
bitwise_invert = _of_one("bitwise_invert")
ceil = _of_one("ceil")
conj = _of_one("conj")
cos = _of_one("cos")
cosh = _of_one("cosh")
exp = _of_one("exp")
expm1 = _of_one("expm1")
floor = _of_one("floor")
imag = _of_one("imag")
isfinite = _of_one("isfinite")
isinf = _of_one("isinf")
isnan = _of_one("isnan")
log = _of_one("log")
log1p = _of_one("log1p")
log2 = _of_one("log2")
log10 = _of_one("log10")
logical_not = _of_one("logical_not")
negative = _of_one("negative")
positive = _of_one("positive")
real = _of_one("real")
reciprocal = _of_one("reciprocal")
round = _of_one("round")
sign = _of_one("sign")
signbit = _of_one("signbit")
sin = _of_one("sin")
sinh = _of_one("sinh")
square = _of_one("square")
sqrt = _of_one("sqrt")
tan = _of_one("tan")
tanh = _of_one("tanh")
trunc = _of_one("trunc")

add = _of_two("add")
atan2 = _of_two("atan2")
bitwise_and = _of_two("bitwise_and")
bitwise_left_shift = _of_two("bitwise_left_shift")
bitwise_or = _of_two("bitwise_or")
bitwise_right_shift = _of_two("bitwise_right_shift")
bitwise_xor = _of_two("bitwise_xor")
copysign = _of_two("copysign")
divide = _of_two("divide")
equal = _of_two("equal")
floor_divide = _of_two("floor_divide")
greater = _of_two("greater")
greater_equal = _of_two("greater_equal")
hypot = _of_two("hypot")
less = _of_two("less")
less_equal = _of_two("less_equal")
logaddexp = _of_two("logaddexp")
logical_and = _of_two("logical_and")
logical_or = _of_two("logical_or")
logical_xor = _of_two("logical_xor")
maximum = _of_two("maximum")
minimum = _of_two("minimum")
multiply = _of_two("multiply")
nextafter = _of_two("nextafter")
not_equal = _of_two("not_equal")
pow = _of_two("pow")
remainder = _of_two("remainder")
subtract = _of_two("subtract")


def clip(
    x: TensorLike,
    /,
    min: TensorLike | None = None,
    max: TensorLike | None = None,
) -> TensorVariable:
    """Limit the elements to an interval, in the dtype of `x`."""
    clipped: TensorVariable = tt.clip(x, min, max)
    return clipped


__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]  # fmt: skip
