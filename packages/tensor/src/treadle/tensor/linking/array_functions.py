"""Scalar functions written once for the libraries whose functions have NumPy's names: JAX and PyTorch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ArrayFunctions"]

_NAN = complex(math.nan, math.nan)


class ArrayFunctions:
    """Functions of arrays, by the functions of one library.

    Parameters
    ----------
    xp
        jax.numpy or torch.
    special
        The library's special functions: i0e, i1e, gammaln, digamma, zeta, gammainc and gammaincc.
    make_complex
        Its function that makes complex numbers of real and imaginary parts.
    repeat
        Takes a step, what to start from and a number, and takes the step so often.
    """

    # How often to halve a range of logarithms that holds those of all float64 numbers, and the range.
    HALVINGS = 64
    LEAST, MOST = -746.0, 710.0

    def __init__(self, xp: Any, special: Any, make_complex: Callable[..., Any], repeat: Callable[..., Any]) -> None:
        self.xp = xp
        self.special = special
        self.complex = make_complex
        self.repeat = repeat

    def fmod(self, x: Any, y: Any) -> Any:
        """Return the remainder with the sign of x."""
        return self.xp.fmod(x, y)

    def float_divmod(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Return quotient and remainder as Python's divmod defines them for floats (NumPy's algorithm, exact fmod)."""
        xp = self.xp
        remainder = self.fmod(x, y)
        quotient = (x - remainder) / y
        crosses = (remainder != 0) & ((y < 0) != (remainder < 0))
        quotient = xp.where(crosses, quotient - 1, quotient)
        down = xp.floor(quotient)
        down = xp.where(quotient - down > 0.5, down + 1, down)
        by_zero, ratio = y == 0, x / y
        floor = xp.where(quotient == 0, xp.copysign(xp.zeros_like(ratio), ratio), down)
        modulus = xp.where(crosses, remainder + y, remainder)
        modulus = xp.where(remainder == 0, xp.copysign(xp.zeros_like(y), y), modulus)
        return xp.where(by_zero, ratio, floor), xp.where(by_zero, remainder, modulus)

    # Complex numbers, in the order of their real parts, then of the imaginary ones. What has a NaN is neither larger
    # nor smaller than anything.

    def above(self, x: Any, y: Any) -> Any:
        """Whether x comes after y."""
        xp = self.xp
        numbers = ~(xp.isnan(xp.imag(x)) | xp.isnan(xp.imag(y)))
        return ((xp.real(x) > xp.real(y)) & numbers) | ((xp.real(x) == xp.real(y)) & (xp.imag(x) > xp.imag(y)))

    def reaches(self, x: Any, y: Any) -> Any:
        """Whether x comes after y or is equal."""
        xp = self.xp
        numbers = ~(xp.isnan(xp.imag(x)) | xp.isnan(xp.imag(y)))
        return ((xp.real(x) > xp.real(y)) & numbers) | ((xp.real(x) == xp.real(y)) & (xp.imag(x) >= xp.imag(y)))

    def maximum(self, x: Any, y: Any) -> Any:
        """Return the larger complex number, the first NaN if there is one."""
        return self.xp.where(self.xp.isnan(x) | self.reaches(x, y), x, y)

    def minimum(self, x: Any, y: Any) -> Any:
        """Return the smaller complex number, the first NaN if there is one."""
        return self.xp.where(self.xp.isnan(x) | self.reaches(y, x), x, y)

    def power(self, x: Any, y: Any) -> Any:
        """Raise to a complex power; of 0 it is 0 where the exponent's real part is positive, 1 at 0, else NaN."""
        xp = self.xp
        zero = x == 0
        of_zero = xp.where(xp.real(y) > 0, xp.zeros_like(x), xp.full_like(x, _NAN))
        raised = xp.where(zero, of_zero, xp.pow(xp.where(zero, xp.ones_like(x), x), y))
        return xp.where(y == 0, xp.ones_like(x), raised)

    def sign(self, z: Any) -> Any:
        """Compute z / |z|: 0 at 0, a unit where one part is infinite."""
        xp = self.xp
        nan = xp.full_like(z, _NAN)
        parts = xp.real(z), xp.imag(z)
        size = xp.hypot(*parts)
        far = xp.isinf(parts[0]), xp.isinf(parts[1])
        ends = (xp.where(f, xp.sign(part), 0.0) for f, part in zip(far, parts, strict=True))
        directed = xp.where(far[0] & far[1], nan, self.complex(*ends))
        plain = xp.where(xp.isnan(size), nan, self.complex(parts[0] / size, parts[1] / size))
        return xp.where(z == 0, xp.zeros_like(z), xp.where(far[0] | far[1], directed, plain))

    def exp2(self, z: Any) -> Any:
        """Raise 2 to a complex power."""
        xp = self.xp
        return xp.exp(self.complex(xp.real(z) * math.log(2), xp.imag(z) * math.log(2)))

    def reciprocal(self, z: Any) -> Any:
        """Compute 1 / z; NaN at 0."""
        return self.xp.where(z == 0, self.xp.full_like(z, _NAN), 1 / z)

    def of_complex_numbers(self) -> Mapping[str, Callable[..., Any]]:
        """Return the functions of complex numbers, by the names of scalar ops."""
        return {
            "maximum": self.maximum,
            "minimum": self.minimum,
            "sign": self.sign,
            "pow": self.power,
            "exp2": self.exp2,
            "reciprocal": self.reciprocal,
            "gt": self.above,
            "ge": self.reaches,
            "lt": lambda x, y: self.above(y, x),
            "le": lambda x, y: self.reaches(y, x),
        }

    # Integers of one dtype

    def integer_division(self, divide: Callable[..., Any], signed: bool, negate: bool) -> Callable[..., Any]:
        """Return an integer division that the machine cannot refuse: by zero it is 0, by -1 it is done by hand.

        The smallest integer divided by -1 overflows, on which some processors trap as on a division by zero.
        """
        xp = self.xp

        def of_unsigned(a: Any, b: Any) -> Any:
            zero = b == 0
            return xp.where(zero, xp.zeros_like(a), divide(a, xp.where(zero, xp.ones_like(b), b)))

        def of_signed(a: Any, b: Any) -> Any:
            zero, minus = b == 0, b == -1
            result = divide(a, xp.where(zero | minus, xp.ones_like(b), b))
            by_minus = xp.negative(a) if negate else xp.zeros_like(a)
            return xp.where(zero, xp.zeros_like(a), xp.where(minus, by_minus, result))

        return of_signed if signed else of_unsigned

    def left_shift(self, bits: int) -> Callable[..., Any]:
        """Return a shift to the left; by the width or more, or by a negative number, it is 0."""
        xp = self.xp

        def shift(a: Any, b: Any) -> Any:
            inside = (b >= 0) & (b < bits)
            shifted = xp.bitwise_left_shift(a, xp.where(inside, b, xp.zeros_like(b)))
            return xp.where(inside, shifted, xp.zeros_like(a))

        return shift

    def right_shift(self, bits: int, signed: bool) -> Callable[..., Any]:
        """Return a shift to the right, keeping the sign; by the width or more it is the sign, 0 or -1."""
        xp = self.xp

        def shift(a: Any, b: Any) -> Any:
            inside = (b >= 0) & (b < bits)
            shifted = xp.bitwise_right_shift(a, xp.where(inside, b, xp.zeros_like(b)))
            far = xp.where(a < 0, xp.full_like(a, -1), xp.zeros_like(a)) if signed else xp.zeros_like(a)
            return xp.where(inside, shifted, far)

        return shift

    # Special functions of real numbers, with SciPy's values at poles and infinities

    def i0(self, x: Any) -> Any:
        """Multiply by exp(|x|), which overflows before the result does: by its root, twice."""
        root = self.xp.exp(self.xp.abs(x) / 2)
        return self.special.i0e(x) * root * root

    def i1(self, x: Any) -> Any:
        """Compute as `i0` does."""
        root = self.xp.exp(self.xp.abs(x) / 2)
        return self.special.i1e(x) * root * root

    def gammaln(self, x: Any) -> Any:
        """Return the logarithm of the gamma function's absolute value."""
        return self.xp.where(x == -math.inf, x, self.special.gammaln(x))

    def digamma(self, x: Any) -> Any:
        """Return the logarithmic derivative of the gamma function."""
        return self.xp.where(x == 0, -1 / x, self.special.digamma(x))

    def tri_gamma(self, x: Any) -> Any:
        """Return the derivative of `digamma`."""
        return self.polygamma(self.xp.ones_like(x), x)

    def polygamma(self, n: Any, x: Any) -> Any:
        """By Hurwitz's zeta function (DLMF 25.11.12); below 0 by its sum over both sides, which has period 1."""
        xp, zeta = self.xp, self._zeta
        s = n + 1
        sign = xp.where(s % 2 == 0, xp.ones_like(s), -xp.ones_like(s))
        fraction = x - xp.floor(x)
        pole = (x <= 0) & ((fraction == 0) | (x == -math.inf))
        below = x < 0
        safe = xp.where(pole, 0.5, fraction)
        # The distances to both poles, which are exact next to them; between them the largest terms may cancel.
        above = xp.where(pole | ~below, 0.5, xp.ceil(x) - x)
        poles = safe**-s + sign * above**-s
        further = (zeta(s, 1 + safe) + sign * zeta(s, 1 + above)) - sign * zeta(s, xp.where(below, 1 - x, 1.0))
        total = xp.where(below, poles + further, zeta(s, xp.where(below, 1.0, x)))
        total = xp.where(pole, math.inf, xp.where(x == math.inf, 0.0, total))
        value = sign * xp.exp(self.special.gammaln(s)) * total
        value = xp.where((n >= 1) & (n < math.inf) & (n == xp.floor(n)), value, math.nan)
        return xp.where(n == 0, self.digamma(x), value)

    def _zeta(self, s: Any, q: Any) -> Any:
        """Return Hurwitz's zeta function; of a large number by the first terms of its expansion, where q**-s is 0."""
        large = self.xp.where(q > 1e9, q, 1e9)
        return self.xp.where(q > 1e9, large ** (1 - s) * (1 / (s - 1) + 0.5 / large), self.special.zeta(s, q))

    def at_ends(self, a: Any, x: Any, inside: Any, at_zero: float) -> Any:
        """Return an incomplete gamma function with SciPy's values where the shape or the argument is 0 or infinite."""
        xp = self.xp
        value = xp.where((x == math.inf) | (a == 0), 1 - at_zero, inside)
        value = xp.where((x == 0) | (a == math.inf), at_zero, value)
        both = ((x == 0) & (a == 0)) | ((x == math.inf) & (a == math.inf))
        return xp.where(both | ~(a >= 0) | ~(x >= 0), math.nan, value)

    def gammaincinv(self, a: Any, p: Any) -> Any:
        """Return the inverse of gammainc in its argument, by bisection."""
        return self._gamma_inverse(a, p, 1 - p, self.xp.where(p == 0, 0.0, math.inf), p)

    def gammainccinv(self, a: Any, q: Any) -> Any:
        """Return the inverse of gammaincc in its argument, by bisection."""
        return self._gamma_inverse(a, 1 - q, q, self.xp.where(q == 0, math.inf, 0.0), q)

    def _gamma_inverse(self, a: Any, p: Any, q: Any, at_ends: Any, weight: Any) -> Any:
        """Return where the tails have the weights p and q, of which one was the argument."""
        xp, special = self.xp, self.special
        light = p <= q

        def below(y: Any) -> Any:
            x = xp.exp(y)
            return xp.where(light, special.gammainc(a, x) < p, special.gammaincc(a, x) > q)

        inside = (a > 0) & (a < math.inf) & (weight > 0) & (weight < 1)
        ends = (a >= 0) & ((weight == 0) | (weight == 1))
        solution = xp.exp(self.bisected(below, a + p, self.LEAST, self.MOST))
        return xp.where(inside, solution, xp.where(ends, at_ends, math.nan))

    def bisected(self, below: Callable[[Any], Any], like: Any, low: float, high: float) -> Any:
        """Return where a condition that holds from `low` on ends, for each element of an array like `like`."""

        def halve(ends: tuple[Any, Any]) -> tuple[Any, Any]:
            middle = (ends[0] + ends[1]) / 2
            lower = below(middle)
            return self.xp.where(lower, middle, ends[0]), self.xp.where(lower, ends[1], middle)

        return self.repeat(halve, (self.xp.full_like(like, low), self.xp.full_like(like, high)), self.HALVINGS)[0]
