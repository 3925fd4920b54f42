"""Scalar ops whose NumPy meaning needs more than the jax.numpy function of the same name."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from treadle.link.jax.lower.elementwise.scalar.array_functions import FUNCTIONS
from treadle.link.jax.mapped_axes import while_loop
from treadle.link.jax.scalars import SCALARS
from treadle.link.jax.table import Checked
from treadle.tensor import ALL_KINDS, CASTS

Comparison = Callable[..., jax.Array]


def _kind(x: jax.Array) -> str:
    return str(np.dtype(x.dtype).kind)


# Copies, choices and casts: the conversion to the output dtype is done by `scalar_function`.

for _name in ("identity", *(cast.name for cast in CASTS.values())):
    SCALARS.register(_name, {ALL_KINDS: lambda x: x})
SCALARS.register("second", {ALL_KINDS: lambda _, y: y})
SCALARS.register("switch", {ALL_KINDS: jnp.where})


# Arithmetic


@SCALARS.function("add")
def add(x: jax.Array, y: jax.Array) -> jax.Array:
    """Add; bool as "or"."""
    return lax.bitwise_or(x, y) if _kind(x) == "b" else lax.add(x, y)


@SCALARS.function("mul")
def multiply(x: jax.Array, y: jax.Array) -> jax.Array:
    """Multiply; bool as "and"."""
    return lax.bitwise_and(x, y) if _kind(x) == "b" else lax.mul(x, y)


SCALARS.register("true_div", {ALL_KINDS: lax.div})


def _is_open(y: jax.Array) -> jax.Array:
    """Where XLA leaves open what x / y is: by 0, and for the least integer by -1. Neither traps."""
    return (y == 0) | (y == -1) if _kind(y) == "i" else y == 0


def _crosses(remainder: jax.Array, y: jax.Array) -> jax.Array:
    return (remainder != 0) & ((remainder < 0) != (y < 0))


@SCALARS.function("floor_div")
def _floor_divide(x: jax.Array, y: jax.Array) -> jax.Array:
    """Divide and round down; for integers x // 0 is 0, and the least integer // -1 is itself.

    With the remainder by a second division it takes two to three times as long.
    """
    if _kind(x) == "f":
        return FUNCTIONS.float_divmod(x, y)[0]  # type: ignore[no-any-return]  # of any library
    quotient = lax.div(x, y)
    rounded = jnp.where(_crosses(x - quotient * y, y), quotient - jnp.ones_like(x), quotient)
    return jnp.where(_is_open(y), x * y, rounded)


@SCALARS.function("mod")
def _remainder(x: jax.Array, y: jax.Array) -> jax.Array:
    """Return the remainder with the sign of the divisor; for integers x % 0 is 0."""
    if _kind(x) == "f":
        return FUNCTIONS.float_divmod(x, y)[1]  # type: ignore[no-any-return]  # of any library
    remainder = lax.rem(x, y)
    moved = jnp.where(_crosses(remainder, y), remainder + y, remainder)
    return jnp.where(_is_open(y), jnp.zeros_like(x), moved)


SCALARS.register("reciprocal", {"biuf": lambda x: 1 / x})


@SCALARS.function("pow", kinds="biuf")
def _power(x: jax.Array, y: jax.Array) -> jax.Array | Checked[jax.Array]:
    """Raise to a power; integers by squaring, wrapping, and a negative exponent of an integer is an error."""
    if _kind(x) == "f":
        return jnp.power(x, y)
    zero, one = jnp.zeros_like(y), jnp.ones_like(y)
    negative = y < 0

    def step(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        base, exponent, power = state
        power = jnp.where(lax.bitwise_and(exponent, one) != 0, power * base, power)
        return base * base, lax.shift_right_logical(exponent, one), power

    start = (x, jnp.where(negative, zero, y), jnp.ones_like(x))
    _, _, result = while_loop(lambda state: jnp.any(state[1] != 0), step, start)
    return result if _kind(y) == "u" else Checked(result, jnp.any(negative))


# Comparisons: NumPy compares int64 with uint64 exactly, without converting one to the other.


def _comparison(name: str, function: Comparison, mirror: Comparison, when_negative: bool, kinds: str = "biuf") -> None:
    def compare(x: jax.Array, y: jax.Array) -> jax.Array:
        if x.dtype == y.dtype:
            return function(x, y)
        if _kind(x) == "i":
            # A negative signed operand is below every unsigned one.
            return jnp.where(x < 0, when_negative, function(x.astype(y.dtype), y))
        return jnp.where(y < 0, mirror(-1, 0), mirror(y.astype(x.dtype), x))

    SCALARS.register(name, {kinds: compare})


_comparison("eq", jnp.equal, jnp.equal, False, ALL_KINDS)
_comparison("neq", jnp.not_equal, jnp.not_equal, True, ALL_KINDS)
_comparison("lt", jnp.less, jnp.greater, True)
_comparison("le", jnp.less_equal, jnp.greater_equal, True)
_comparison("gt", jnp.greater, jnp.less, False)
_comparison("ge", jnp.greater_equal, jnp.less_equal, False)


# Shifts by the width or more, or by a negative number, move everything out.


SCALARS.register("left_shift", {ALL_KINDS: lax.shift_left})


@SCALARS.function("right_shift")
def _right_shift(x: jax.Array, y: jax.Array) -> jax.Array:
    return lax.shift_right_arithmetic(x, y) if _kind(x) == "i" else lax.shift_right_logical(x, y)


# Rounding leaves integers alone.


for _name, _function in (
    ("ceil", jnp.ceil), ("floor", jnp.floor), ("trunc", jnp.trunc), ("round_half_to_even", jnp.rint),
):  # fmt: skip
    SCALARS.register(_name, {"fc": _function, "biu": lambda x: x})


# Extrema of floats


def _extremum(function: Callable[[jax.Array, jax.Array], jax.Array]) -> Callable[[jax.Array, jax.Array], jax.Array]:
    """Return an extremum that XLA computes itself, by a choice, rather than by its library for CPUs.

    That would lose NaN of one operand in sums of 4,096 elements or more, which take 1.1 to 2.6 of the time so.
    """
    return lambda x, y: jnp.where((x != x) | (y != y), np.array(np.nan, x.dtype), function(x, y))


SCALARS.register("maximum", {"f": _extremum(lax.max)})
SCALARS.register("minimum", {"f": _extremum(lax.min)})


# Parts of complex numbers, and complex numbers from their parts.

SCALARS.register("real", {ALL_KINDS: jnp.real})
SCALARS.register("imag", {ALL_KINDS: jnp.imag})
SCALARS.register("complex", {ALL_KINDS: lax.complex})


# Parts of floats, integers.

SCALARS.register("frexp_exponent", {"f": lambda x: jnp.where(jnp.isfinite(x), jnp.frexp(x)[1], 0)})
SCALARS.register("bitwise_count", {"iu": jnp.bitwise_count})


@SCALARS.function("gcd", kinds="iu")
def _gcd(x: jax.Array, y: jax.Array) -> jax.Array:
    """The greatest common divisor, of absolute values as unsigned numbers, by Euclid's algorithm."""
    unsigned = np.dtype(f"uint{8 * x.dtype.itemsize}")
    a, b = (jnp.abs(v).astype(unsigned) if _kind(v) == "i" else v for v in (x, y))

    def step(pair: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        a, b = pair
        done = b == 0
        return jnp.where(done, a, b), jnp.where(done, b, lax.rem(a, jnp.where(done, jnp.ones_like(b), b)))

    return while_loop(lambda pair: jnp.any(pair[1] != 0), step, (a, b))[0].astype(x.dtype)
