"""Functions of generated code that are the same for all graphs: lengths, slices, float16, integers, BLAS."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from treadle.config import new_lock
from treadle.link.numba.buffers import BUFFERS
from treadle.link.numba.interrupts import WATCHED
from treadle.link.numba.routines.objects import TEXT as OBJECTS
from treadle.link.numba.routines.pool import TEXT as POOL
from treadle.link.numba.routines.threads import TEXT as THREADS
from treadle.link.numba.text.unit import Unit

_HEAD = re.compile(r"def (\w+)\(([^)]*)\):")
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")

# What is long and called a few times in a call of a program at most: its machine code is that of all programs.
_RUNTIME = ("pool_drop", "pool_give", "pool_take", "block_new", "grow", "made_array", "listed")
# The functions; {t} in a text stands for a type code, which also ends the function's name. The comment on the first
# line of each holds the types of the parameters.
_LENGTHS = """
def joined(a, b):  # i8 i8
    # The length that two lengths broadcast to, -1 if they do not.
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    return -1

def position(i, n):  # i8 i8
    # A position counted from the start, -1 if it is out of bounds.
    if i < 0:
        i = i + n
    if i < 0 or i >= n:
        return -1
    return i

def span(n, start, stop, step, given):  # i8 i8 i8 i8 i8
    # First position and length of a slice; given: 1 if there is a start, plus 2 if there is a stop. Length -1 if
    # the step is 0.
    if step == 0:
        return 0, -1
    low = 0
    high = n
    if step < 0:
        low = -1
        high = n - 1
    first = low
    last = high
    if step < 0:
        first = high
        last = low
    if given & 1:
        first = start
        if first < 0:
            first = first + n
        first = min(max(first, low), high)
    if given & 2:
        last = stop
        if last < 0:
            last = last + n
        last = min(max(last, low), high)
    if step > 0:
        if last <= first:
            return 0, 0
        return first, (last - first - 1) // step + 1
    if last >= first:
        return 0, 0
    return first, (first - last - 1) // -max(step, -9223372036854775807) + 1
"""

_HALF = """
def narrow_f2(x):  # f4
    # To the nearest float16, ties to even.
    if f16c_here(0):
        return f16c_narrowed(x)
    u = bits_f4_u4(x)
    sign = (u >> 16) & 0x8000
    a = u & 0x7FFFFFFF
    if a > 0x7F800000:
        return u2(sign | 0x7E00)
    if a >= 0x477FF000:
        return u2(sign | 0x7C00)
    if a >= 0x38800000:
        return u2(sign | ((a + 0xFFF + ((a >> 13) & 1) - 0x38000000) >> 13))
    # Adding a half rounds to its last place, which is that of the subnormal float16 numbers.
    return u2(sign | (i8(bits_f4_u4(bits_u4_f4(u4(a)) + f4(0.5))) - 0x3F000000))

def widen_f2(h):  # u2
    if f16c_here(0):
        return f16c_widened(h)
    sign = (i8(h) & 0x8000) << 16
    a = i8(h) & 0x7FFF
    if a >= 0x7C00:
        return bits_u4_f4(u4(sign | (a << 13) | 0x7F800000))
    if a >= 0x0400:
        return bits_u4_f4(u4(sign | ((a << 13) + 0x38000000)))
    return copysign(f4(a) * f4(5.9604644775390625e-08), bits_u4_f4(u4(sign)))

def half_f4(x):  # f4
    return widen_f2(narrow_f2(x))

def half_f8(x):  # f8
    # Rounded to odd at float32 first, so that rounding twice is rounding once.
    y = f4(x)
    z = f8(y)
    if z != x and z == z:
        u = i8(bits_f4_u4(y))
        if fabs(z) > fabs(x):
            u = u - 1
        y = bits_u4_f4(u4(u | 1))
    return widen_f2(narrow_f2(y))
"""

_UNSIGNED = """
def u8_of_{t}(x):  # {t}
    if x < {t}(9223372036854775808.0):
        return u8(i8(x))
    return u8(x)
"""

# LLVM leaves out what is about negative quotients where there are none; of shifts it does not.
_SIGNED_SHIFT = """
def int_right_shift_{t}(a, b):  # {t} {t}
    if b < 0 or b >= {bits}:
        return {t}(-1) if a < 0 else {t}(0)
    return {t}(a >> b)
"""
_UNSIGNED_SHIFT = """
def int_right_shift_{t}(a, b):  # {t} {t}
    if b >= {bits}:
        return {t}(0)
    return {t}(a >> b)
"""
_INTEGERS = """
def int_floor_div_{t}(a, b):  # {t} {t}
    if b == 0:
        return {t}(0)
    if b == -1:
        return {t}(-a)
    return {t}(a // b)

def int_mod_{t}(a, b):  # {t} {t}
    if b == 0 or b == -1:
        return {t}(0)
    return {t}(a % b)

def int_gcd_{t}(a, b):  # {t} {t}
    # Of absolute values: the least integer stays what it is, and is taken for its absolute value in the end.
    x = u8({unsigned}({t}(abs(a))))
    y = u8({unsigned}({t}(abs(b))))
    while y != 0:
        rest = u8(x % y)
        x = y
        y = rest
    return {t}(x)

def int_left_shift_{t}(a, b):  # {t} {t}
    if b < 0 or b >= {bits}:
        return {t}(0)
    return {t}(a << b)

def int_pow_{t}(a, b):  # {t} {t}
    power = {t}(1)
    factor = a
    n = b
    while n > 0:
        if n & 1:
            power = {t}(power * factor)
        factor = {t}(factor * factor)
        n = {t}(n >> 1)
    return power
"""

# For loops, by way of floats, of which there are vectors: C has the same (`treadle.link.c.runtime.scalars`).
_MANY = """
def many_floor_div_{t}(a, b):  # {t} {t}
    inverse = {r}(b != 0) / ({r}(b) + {r}(b == 0))
    half = fabs(inverse) * {r}(0.5) - {r}(0.5)
    return {t}(bits_{r}_{integer}({r}(a) * inverse + half + {r}({large})))
"""
_MANY_LONG = """
def many_floor_div_i8(a, b):  # i8 i8
    d = pick(u8(b + 1) <= 2, 2, b)
    inverse = 1.0 / f8(d)
    q = i8(f8(a) * inverse)
    r = a - q * d
    p = i8(f8(r) * inverse + 6755399441055744.0 - 6755399441055744.0)
    s = r - p * d
    return pick(d != b, a * b, q + p - i8((s != 0) & ((s ^ d) < 0)))
"""
_MANY_MOD = """
def many_mod_{t}(a, b):  # {t} {t}
    return pick(b == 0, {t}(0), {t}(a - many_floor_div_{t}(a, b) * b))
"""

_BLAS = """
def leading(rows, columns, s0, s1):  # i8 i8 i8 i8
    # How BLAS can read a matrix: distance between rows, 0; or between columns, 1; or not at all, 0 0.
    if (s1 == 1 or columns == 1) and (rows == 1 or s0 >= max(columns, 1)):
        return max(columns, 1) if rows == 1 else s0, 0
    if (s0 == 1 or rows == 1) and (columns == 1 or s1 >= max(rows, 1)):
        return max(rows, 1) if columns == 1 else s1, 1
    return 0, 0

def matmul_{t}(frame, slot, m, n, k, a, a0, a1, b, b0, b1, c):  # i8 i8 i8 i8 i8 i8 i8 i8 i8 i8 i8 i8
    # c = a b for one pair of matrices, c in C order. BLAS counts by columns: it computes the transpose, b' a'.
    if m == 0 or n == 0:
        return 0
    out = as_{t}(c)
    if k == 0:
        for i in range(m * n):
            out[i] = {t}(0)
        return 0
    # A call of BLAS costs more than a small product.
    if max(m, n, k) <= 4:
        return few_{t}(m, n, k, a, a0, a1, b, b0, b1, c)
    # A vector times a matrix is the transposed matrix times the vector.
    if m == 1:
        m, n = n, m
        a, b = b, a
        a0, a1, b0, b1 = b1, b0, a1, a0
    if n == 1 and k <= {most} and m * k <= 144:
        return few_{t}(1, m, k, b, 0, b0, a, a1, a0, c)
    if max(m, n, k) > 2147483647:
        return 3
    x = as_{t}(a)
    y = as_{t}(b)
    one = {t}(1)
    zero = {t}(0)
    if n == 1 and (k == 1 or b0 > 0):
        la, ta = leading(m, k, a0, a1)
        if 0 < la <= 2147483647 and b0 <= 2147483647:
            if ta == 0:
                blas_{letter}gemv(84, k, m, one, x, la, y, max(b0, 1), zero, out, 1)
            else:
                blas_{letter}gemv(78, m, k, one, x, la, y, max(b0, 1), zero, out, 1)
            return 0
    la, ta = leading(m, k, a0, a1)
    if la <= 0 or la > 2147483647:
        a = in_order_{t}(frame, slot, m, k, a, a0, a1)
        if a == 0:
            return 4
        la = k
        ta = 0
    lb, tb = leading(k, n, b0, b1)
    if lb <= 0 or lb > 2147483647:
        b = in_order_{t}(frame, slot + 1, k, n, b, b0, b1)
        if b == 0:
            return 4
        lb = n
        tb = 0
    turns_b = 84 if tb == 1 else 78
    turns_a = 84 if ta == 1 else 78
    blas_{letter}gemm(turns_b, turns_a, n, m, k, one, as_{t}(b), lb, as_{t}(a), la, zero, out, n)
    return 0

def few_{t}(m, n, k, a, a0, a1, b, b0, b1, c):  # i8 i8 i8 i8 i8 i8 i8 i8 i8 i8
    # c = a b, of four columns at a time, whose sums are in registers.
    x = as_{t}(a)
    for j in range(0, n, 4):
        left = n - j
        y = as_{t}(b + {size} * j * b1)
        out = as_{t}(c + {size} * j)
        last = (min(left, 4) - 1) * b1
        second = b1 if left > 1 else 0
        third = 2 * b1 if left > 3 else last
        for i in range(m):
            row = i * a0
            s0 = {t}(0)
            s1 = {t}(0)
            s2 = {t}(0)
            s3 = {t}(0)
            for r in range(k):
                factor = x[row + r * a1]
                at = r * b0
                s0 = s0 + factor * y[at]
                s1 = s1 + factor * y[at + second]
                s2 = s2 + factor * y[at + third]
                s3 = s3 + factor * y[at + last]
            out[i * n] = s0
            if left > 2:
                out[i * n + 1] = s1
            if left > 3:
                out[i * n + 2] = s2
            if left > 1:
                out[i * n + min(left, 4) - 1] = s3
    return 0

def in_order_{t}(frame, slot, rows, columns, x, s0, s1):  # i8 i8 i8 i8 i8 i8 i8
    # A copy of a matrix in C order.
    made = new(frame, slot, {size} * rows * columns)
    if made == 0:
        return 0
    source = as_{t}(x)
    target = as_{t}(made)
    for i in range(rows):
        for j in range(columns):
            target[i * columns + j] = source[i * s0 + j * s1]
    return made
"""

_FLOATS = """
def power_of_two_{t}(n):  # i8
    return bits_{bits}_{t}({bits}((n + {bias}) << {mantissa}))

def ldexp_{t}(x, n):  # {t} i8
    # A number scaled down stays normal, with all its bits, until the last step.
    left = min(max(n, -4 * {bias}), 4 * {bias})
    for step in range(2):
        part = 0
        if left > {bias}:
            part = {bias}
        if left < 1 - {bias}:
            part = {mantissa} + 2 - {bias}
        x = x * power_of_two_{t}(part)
        left = left - part
    return x * power_of_two_{t}(min(max(left, 1 - {bias}), {bias}))
"""


_EXTREME = """
def {name}_{t}(x, n):  # *{t} i8
    best = x[0]
    for i in range(n):
        best = {better}
    return best
"""

_COMPLEX = """
def size_{t}(a):  # {t}
    return libm_hypot_{r}(re_{t}(a), im_{t}(a))

def conj_{t}(a):  # {t}
    return compose_{r}(re_{t}(a), -im_{t}(a))
"""


def _texts() -> Iterable[str]:
    yield from (BUFFERS, OBJECTS, POOL, THREADS, _LENGTHS, _HALF, WATCHED)
    for t, letter, bits, mantissa, bias in (("f4", "s", "i4", "23", "127"), ("f8", "d", "i8", "52", "1023")):
        yield _UNSIGNED.replace("{t}", t)
        layout = _FLOATS.replace("{bits}", bits).replace("{mantissa}", mantissa).replace("{bias}", bias)
        typed = (layout + _BLAS).replace("{t}", t).replace("{most}", "32")
        yield typed.replace("{size}", t[1:]).replace("{letter}", letter)
    for t, letter, r in (("c8", "c", "f4"), ("c16", "z", "f8")):
        typed = (_COMPLEX + _BLAS).replace("{t}", t).replace("{r}", r).replace("{most}", "0")
        yield typed.replace("{size}", t[1:]).replace("{letter}", letter)
    for name, instruction, order in (("largest", "larger", ">"), ("smallest", "smaller", "<")):
        for t in ("f4", "f8", *(f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8))):
            better = f"{instruction}(best, x[i])" if t[0] == "f" else f"pick(x[i] {order} best, x[i], best)"
            yield _EXTREME.replace("{name}", name).replace("{t}", t).replace("{better}", better)
    for size in (1, 2, 4, 8):
        for kind, shift in (("i", _SIGNED_SHIFT), ("u", _UNSIGNED_SHIFT)):
            r, integer, large = ("f4", "i4", "12582912.0") if size < 4 else ("f8", "i8", "6755399441055744.0")
            many = (_MANY_LONG if size == 8 else _MANY).replace("{r}", r).replace("{integer}", integer)
            texts = shift + _INTEGERS + many.replace("{large}", large) + _MANY_MOD
            typed = texts.replace("{t}", f"{kind}{size}").replace("{unsigned}", f"u{size}")
            yield typed.replace("{bits}", str(8 * size))


class Library:
    """The functions by name, each with those that it calls."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._texts: dict[str, str] = {}
        self._units: dict[str, Unit] = {}

    def keep(self, unit: Unit) -> None:
        """Have texts call a unit by its name, which no other has."""
        with self._lock:
            self._units[unit.name] = unit

    def find(self, name: str) -> Unit | None:
        """Return the function with a name, or None."""
        with self._lock:
            self._split()
            text = self._texts.get(name)
            if text is None:
                return self._units.get(name)
            if name not in self._units:
                head, _, body = text.partition("\n")
                declaration, _, types = head.partition("  # ")
                source = f"{declaration}\n{body}\n"
                inner = self.used_by(source, but=name)
                self._units[name] = Unit(name, source, tuple(types.split()), inner, is_apart=name in _RUNTIME)
            return self._units[name]

    def together(self, unit: Unit) -> list[Unit]:
        """Return the units that share their machine code with a unit that is apart, those first that others call."""
        runtime = [found for name in _RUNTIME if (found := self.find(name)) is not None]
        return runtime if unit in runtime else [unit]

    def used_by(self, source: str, but: str = "") -> tuple[Unit, ...]:
        """Return the functions that a text names."""
        names = dict.fromkeys(_NAME.findall(source))
        units = (self.find(name) for name in names if name != but)
        return tuple(unit for unit in units if unit is not None)

    def _split(self) -> None:
        if not self._texts:
            for text in _texts():
                self._texts.update(_functions(text))


def _functions(text: str) -> dict[str, str]:
    """Return the functions of a text by name."""
    parts = textwrap.dedent(text).strip().split("\n\n")
    return {head.group(1): part for part in parts if (head := _HEAD.match(part)) is not None}


LIBRARY = Library()
