"""Arithmetic: integers wrap, division by zero gives 0, as in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from treadle.link.torch.programs.storage import SIGN_BIT
from treadle.link.torch.scalars import SCALARS, ByDtypes, TensorFunction

for _name, _function in (
    ("add", torch.add),
    ("sub", torch.sub),
    ("mul", torch.mul),
    ("neg", torch.neg),
):
    SCALARS.register(_name, {"iuf": _function})
SCALARS.register("mul", {"c": torch.mul})
SCALARS.register("add", {"b": torch.logical_or})
SCALARS.register("mul", {"b": torch.logical_and})
SCALARS.register("true_div", {"fc": torch.true_divide})
SCALARS.register("abs", {"ifc": torch.abs})
SCALARS.register("abs", {"bu": torch.clone})
SCALARS.register("maximum", {"if": torch.maximum})
SCALARS.register("minimum", {"if": torch.minimum})
SCALARS.register("maximum", {"b": torch.logical_or})
SCALARS.register("minimum", {"b": torch.logical_and})
SCALARS.register("sign", {"i": torch.sign})


def unsigned_less(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return a < b for uint64 bits."""
    return torch.bitwise_xor(a, SIGN_BIT) < torch.bitwise_xor(b, SIGN_BIT)


@SCALARS.function("maximum", kinds="u")
def maximum_of_unsigned(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The larger of two uint64."""
    return torch.where(unsigned_less(a, b), b, a)


@SCALARS.function("minimum", kinds="u")
def minimum_of_unsigned(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The smaller of two uint64."""
    return torch.where(unsigned_less(b, a), b, a)


@SCALARS.function("sign", kinds="u")
def sign_of_unsigned(x: torch.Tensor) -> torch.Tensor:
    """1 for any uint64 but 0."""
    return (x != 0).to(torch.int64)


@SCALARS.function("sign", kinds="f")
def sign(x: torch.Tensor) -> torch.Tensor:
    """The sign; NaN for NaN, where torch.sign gives 0."""
    return torch.where(torch.isnan(x), x, torch.sign(x))


def _float_divmod(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return quotient and remainder as Python's divmod defines them for floats (NumPy's algorithm, exact fmod)."""
    rest = torch.fmod(a, b)
    whole = (a - rest) / b
    crosses = (rest != 0) & ((b < 0) != (rest < 0))
    whole = torch.where(crosses, whole - 1, whole)
    down = torch.floor(whole)
    down = torch.where(whole - down > 0.5, down + 1, down)
    quotient = torch.where(whole == 0, torch.copysign(torch.zeros_like(a / b), a / b), down)
    remainder = torch.where(rest == 0, torch.copysign(torch.zeros_like(b), b), torch.where(crosses, rest + b, rest))
    by_zero = b == 0
    return torch.where(by_zero, a / b, quotient), torch.where(by_zero, rest, remainder)


@SCALARS.function("floor_div", kinds="f")
def float_floor_div(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The floor of the quotient, without the rounding error of the quotient."""
    return _float_divmod(a, b)[0]


@SCALARS.function("mod", kinds="f")
def float_mod(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The remainder with the divisor's sign."""
    return _float_divmod(a, b)[1]


def _integer_division(loops: Sequence[str], divide: TensorFunction, negate: bool) -> TensorFunction:
    """Return an integer division that the machine cannot refuse: by zero it is 0, by -1 it is done by hand.

    The smallest integer divided by -1 overflows, which some processors punish like a division by zero.
    """
    if loops[-1].startswith("u"):

        def unsigned(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            zero = b == 0
            return torch.where(zero, torch.zeros_like(a), divide(a, torch.where(zero, torch.ones_like(b), b)))

        return unsigned

    def signed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        zero, minus = b == 0, b == -1
        result = divide(a, torch.where(zero | minus, torch.ones_like(b), b))
        by_minus = torch.neg(a) if negate else torch.zeros_like(a)
        return torch.where(zero, torch.zeros_like(a), torch.where(minus, by_minus, result))

    return signed


@SCALARS.function("floor_div", kinds="i")
@ByDtypes
def integer_floor_div(loops: Sequence[str]) -> TensorFunction:
    """The floor of the quotient of integers."""
    return _integer_division(loops, lambda a, b: torch.div(a, b, rounding_mode="floor"), negate=True)


@SCALARS.function("mod", kinds="i")
@ByDtypes
def integer_mod(loops: Sequence[str]) -> TensorFunction:
    """The remainder with the divisor's sign."""
    return _integer_division(loops, torch.remainder, negate=False)


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


@SCALARS.function("floor_div", kinds="u")
@ByDtypes
def unsigned_floor_div(loops: Sequence[str]) -> TensorFunction:
    """The quotient of uint64."""
    return _integer_division(loops, _unsigned_quotient, negate=False)


@SCALARS.function("mod", kinds="u")
@ByDtypes
def unsigned_mod(loops: Sequence[str]) -> TensorFunction:
    """The remainder of uint64."""
    return _integer_division(loops, lambda a, b: a - _unsigned_quotient(a, b) * b, negate=False)
