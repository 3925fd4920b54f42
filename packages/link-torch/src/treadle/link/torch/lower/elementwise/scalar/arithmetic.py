"""Arithmetic: integers wrap, division by zero gives 0, as in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from treadle.link.torch.looking import all_finite, all_positive, can_look
from treadle.link.torch.lower.elementwise.scalar.array_functions import FUNCTIONS
from treadle.link.torch.programs.storage import SIGN_BIT
from treadle.link.torch.scalars import SCALARS, ByDtypes, Kernel, TensorFunction
from treadle.link.torch.table import Checked

SCALARS.register("add", {"iuf": torch.add, "b": torch.logical_or})
SCALARS.register("sub", {"iuf": torch.sub})
SCALARS.register("mul", {"iufc": torch.mul, "b": torch.logical_and})
SCALARS.register("neg", {"iuf": torch.neg})
SCALARS.register("true_div", {"fc": torch.true_divide})
SCALARS.register("abs", {"ifc": torch.abs, "bu": torch.clone})
SCALARS.register("maximum", {"if": torch.maximum, "b": torch.logical_or})
SCALARS.register("minimum", {"if": torch.minimum, "b": torch.logical_and})
SCALARS.register("sqr", {"f": torch.square})
SCALARS.register("sign", {"i": torch.sign})
SCALARS.register("sign", {"u": lambda x: (x != 0).to(torch.int64)})


def unsigned_less(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return a < b for uint64 bits."""
    return torch.bitwise_xor(a, SIGN_BIT) < torch.bitwise_xor(b, SIGN_BIT)


SCALARS.register("maximum", {"u": lambda a, b: torch.where(unsigned_less(a, b), b, a)})
SCALARS.register("minimum", {"u": lambda a, b: torch.where(unsigned_less(b, a), b, a)})
SCALARS.register("fmod", {"f": FUNCTIONS.fmod})


@SCALARS.function("sign", kinds="f")
def float_sign(x: torch.Tensor) -> torch.Tensor:
    """The sign; that of NaN is NaN, for which torch.sign gives 0."""
    sign = torch.sign(x)
    return sign if all_finite(x) else torch.where(torch.isnan(x), x, sign)


@SCALARS.function("floor_div", kinds="f")
def float_quotient(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The quotient rounded down, as Python has it; compiled code of PyTorch's own function rounds it twice."""
    if can_look(a):
        return torch.div(a, b, rounding_mode="floor")
    return FUNCTIONS.float_divmod(a, b)[0]


@SCALARS.function("mod", kinds="f")
def float_remainder(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The remainder with the sign of the divisor, at 0 too; NaN of PyTorch's own function is looked at again."""
    if can_look(a):
        near = torch.remainder(a, b).copysign_(b)
        if all_finite(near):
            return near
    return FUNCTIONS.float_divmod(a, b)[1]


def _unsigned_quotient(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the quotient of uint64 bits, b not 0 (Warren, Hacker's Delight, 9-3).

    A divisor with the top bit goes into a at most once. For others, half of a is divided as a signed number, and
    the quotient doubled is right or one too small.
    """
    half = torch.bitwise_and(torch.bitwise_right_shift(a, 1), 2**63 - 1)
    large = b < 0
    safe = torch.where(large, torch.ones_like(b), b)
    near = torch.bitwise_left_shift(torch.div(half, safe, rounding_mode="floor"), 1)
    near = near + torch.logical_not(unsigned_less(a - near * safe, safe)).to(torch.int64)
    return torch.where(large, torch.logical_not(unsigned_less(a, b)).to(torch.int64), near)


def _unsigned_remainder(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a - _unsigned_quotient(a, b) * b


def _register_division(name: str, of_signed: TensorFunction, of_unsigned: TensorFunction, negate: bool) -> None:
    def division(divide: TensorFunction, signed: bool) -> TensorFunction:
        careful = FUNCTIONS.integer_division(divide, signed, negate)
        return lambda a, b: divide(a, b) if all_positive(b) else careful(a, b)

    # Short integers without a sign stand in wider ones with it.
    SCALARS.register(name, {"i": ByDtypes(lambda loops: division(of_signed, not loops[-1].startswith("u")))})
    SCALARS.register(name, {"u": division(of_unsigned, signed=False)})


_register_division("floor_div", lambda a, b: torch.div(a, b, rounding_mode="floor"), _unsigned_quotient, True)
_register_division("mod", torch.remainder, _unsigned_remainder, False)


_remainder = FUNCTIONS.integer_division(_unsigned_remainder, signed=False, negate=False)
SCALARS.register("gcd", {"i": lambda a, b: torch.abs(torch.gcd(a, b))})


@SCALARS.function("gcd", kinds="u")
def unsigned_gcd(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Divide three times: the second remainder, and what it leaves, are numbers without the highest bit."""
    first = _remainder(a, b)
    second = _remainder(b, first)
    third = _remainder(first, second)
    divisor = torch.where(second == 0, first, torch.gcd(second, third))
    return torch.where(b == 0, a, torch.where(first == 0, b, divisor))


SCALARS.register("pow", {"f": torch.pow})


@SCALARS.function("pow", kinds="u")
def unsigned_power(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A power of uint64, modulo 2^64: the exponent's halves apart, since torch.pow takes it for a signed number."""
    low = torch.bitwise_and(b, 2**32 - 1)
    high = torch.bitwise_and(torch.bitwise_right_shift(b, 32), 2**32 - 1)
    return torch.pow(a, low) * torch.pow(torch.pow(a, torch.full_like(a, 2**32)), high)


@SCALARS.function("pow", kinds="i")
@ByDtypes
def integer_power(loops: Sequence[str]) -> Kernel:
    """A power of integers; a negative exponent is an error, as in NumPy."""
    if loops[-1].startswith("u"):
        plain: TensorFunction = torch.pow
        return plain

    def power(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return (b < 0).any(), torch.pow(a, torch.clamp(b, min=0))

    return Checked(power)
