"""Write docs/simd_accuracy.md: how far the C backend's functions on blocks of numbers are from exact values.

Each function is called as generated C calls it, at arguments over its whole range, and compared with mpmath. An error
is counted in units of the last place (ulp) of the exact value, subnormal numbers included.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

from treadle.link.c.conventions.abi import BRIDGE
from treadle.link.c.errors import BackendUnavailableError
from treadle.link.c.runtime import Library
from treadle.link.c.runtime.core import CODES
from treadle.link.c.runtime.vectors import BLOCK_FUNCTIONS, KERNEL_BLOCKS
from treadle.link.c.text.prelude import HEADERS
from treadle.link.c.text.simd import simd_functions
from treadle.link.c.toolchain import find_toolchain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from treadle.link.c.toolchain import Toolchain

PAGE = Path(__file__).resolve().parents[1] / "docs" / "simd_accuracy.md"
DTYPES = ("float64", "float32")
# Errors stay below this, or the function goes to the C library's scalar one.
LIMIT = 4.0
_SHORT = {"float64": "f64", "float32": "f32"}
_BITS = {"float64": 53, "float32": 24}
_NUMPY = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "pow": "power", "atan2": "arctan2", "erf": "", "erfc": "", "digamma": "", "gammaln": "",
    "erfcinv": "", "erfinv": "", "ndtri": "",
}  # fmt: skip

HEAD = """\
# Accuracy of functions on blocks

Written by `python -m tools.simd_accuracy`. Generated C calls these functions on whole vectors where the C library has
them so (glibc's libmvec), and one number at a time elsewhere; digamma, gammaln, erfinv, erfcinv and ndtri are loops
written here. The largest error found is in units of the last place of the exact value, which mpmath computes; beside
it stands where it was found, and what NumPy's own function is off by at most, at the same arguments ({count} for each
function and dtype: bit patterns at random, so that every power of two is met, the part of the range where the function
changes, the neighbours of its special points, and subnormal numbers; none below 0 for digamma, which is as exact there
as the two terms that its reflection formula subtracts).

NaN, infinities and the sign of zero are as in NumPy; an element's result depends neither on where it stands nor on how
many others there are. `tests/link_c/test_accuracy.py` checks all of it, with a limit of 4.

| function | dtype | how | largest error | at | NumPy's largest error |
|---|---|---|---|---|---|
"""


def exact(name: str, *operands: float) -> Any:
    """Return a function's exact value at finite arguments, as an mpmath number or nan where it is not real."""
    value = _EXACT[name](*map(mpmath.mpf, operands))
    return mpmath.nan if isinstance(value, mpmath.mpc) else value


def _power(x: Any, y: Any) -> Any:
    if x == 0:
        return mpmath.mpf(1) if y == 0 else (mpmath.mpf(0) if y > 0 else mpmath.inf)
    if x < 0 and y != mpmath.floor(y):
        return mpmath.nan
    # Numbers far beyond all floats need not be computed.
    size = y * mpmath.log(abs(x))
    sign = -1 if x < 0 and mpmath.fmod(y, 2) != 0 else 1
    if size > 2000:
        return sign * mpmath.inf
    return mpmath.mpf(0) if size < -2000 else sign * mpmath.exp(size)


def _growing(function: Callable[[Any], Any], below: Any, odd: bool = False) -> Callable[[Any], Any]:
    """Limit the argument of a function that leaves the range of floats: the exact value of exp(1e300) is useless."""

    def bounded(x: Any) -> Any:
        if x > 2000:
            return mpmath.inf
        if x < -2000:
            return -mpmath.inf if odd else below
        return function(x)

    return bounded


def _log1p(x: Any) -> Any:
    return -mpmath.inf if x == -1 else mpmath.log1p(x)


def _logarithm(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: -mpmath.inf if x == 0 else function(x)


def _gammaln(x: Any) -> Any:
    if x <= 0 and x == mpmath.floor(x):
        return mpmath.inf
    return mpmath.loggamma(x).real


def _digamma(x: Any) -> Any:
    if x == 0:
        return -mpmath.inf
    return mpmath.nan if x < 0 and x == mpmath.floor(x) else mpmath.digamma(x)


def _erfcinv(q: Any) -> Any:
    """Return the number whose erfc is q, which is at most 1, by Newton's steps for the logarithm."""
    if q == 0:
        return mpmath.inf
    if q > mpmath.mpf(0.05):
        return mpmath.erfinv(1 - q)
    x = mpmath.sqrt(-mpmath.log(q * 3))
    for _ in range(100):
        value = mpmath.erfc(x)
        step = mpmath.log(value / q) * value * mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(x * x)
        x += step
        if abs(step) < abs(x) * mpmath.mpf(2) ** -120:
            break
    return x


def _inverse_of(y: Any, q: Any) -> Any:
    """Return the inverse of erf at y, of which q is 1 - |y|; nan where there is none."""
    return mpmath.nan if q < 0 else mpmath.sign(y) * _erfcinv(q)


def _cbrt(x: Any) -> Any:
    return mpmath.cbrt(x) if x >= 0 else -mpmath.cbrt(-x)


def _erfc(x: Any) -> Any:
    return mpmath.mpf(0) if x > 40 else mpmath.erfc(x)


def _tanh(x: Any) -> Any:
    return mpmath.sign(x) if abs(x) > 100 else mpmath.tanh(x)


def _erf(x: Any) -> Any:
    return mpmath.sign(x) if abs(x) > 40 else mpmath.erf(x)


def _atanh(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.inf if abs(x) == 1 else mpmath.atanh(x)


_EXACT: Mapping[str, Callable[..., Any]] = {
    "exp": _growing(mpmath.exp, mpmath.mpf(0)),
    "exp2": _growing(lambda x: mpmath.power(2, x), mpmath.mpf(0)),
    "expm1": _growing(mpmath.expm1, mpmath.mpf(-1)),
    "log": _logarithm(mpmath.log),
    "log2": _logarithm(lambda x: mpmath.log(x, 2)),
    "log10": _logarithm(lambda x: mpmath.log(x, 10)),
    "log1p": _log1p,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "sinh": _growing(mpmath.sinh, mpmath.mpf(0), odd=True),
    "cosh": _growing(mpmath.cosh, mpmath.inf),
    "tanh": _tanh,
    "asinh": mpmath.asinh,
    "acosh": mpmath.acosh,
    "atanh": _atanh,
    "cbrt": _cbrt,
    "erf": _erf,
    "erfc": _erfc,
    "pow": _power,
    "atan2": lambda x, y: mpmath.mpf(0) if x == 0 == y else mpmath.atan2(x, y),
    "hypot": mpmath.hypot,
    "digamma": _digamma,
    "gammaln": _gammaln,
    "erfcinv": lambda x: _inverse_of(1 - x, x if x <= 1 else 2 - x),
    "erfinv": lambda x: mpmath.erfinv(x) if abs(x) < mpmath.mpf(0.9) else _inverse_of(x, 1 - abs(x)),
    "ndtri": lambda x: mpmath.sqrt(2) * _inverse_of(2 * x - 1, 2 * (x if 2 * x <= 1 else 1 - x)),
    # Scalar ops that are built of functions on blocks: the tests look at them too.
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "log1mexp": lambda x: mpmath.log1p(-mpmath.exp(x)) if x < -1 else mpmath.log(-mpmath.expm1(x)),
}

# Where each function changes; drawn from beside the bit patterns.
_RANGES: dict[str, tuple[tuple[float, float], ...]] = {
    "exp": ((-746, 710), (-104, 89), (-2, 2)),
    "exp2": ((-1075, 1024), (-150, 128), (-2, 2)),
    "expm1": ((-40, 710), (-18, 89), (-1, 1)),
    "log": ((0.4, 2.5), (0.99, 1.01), (0, 100)),
    "log2": ((0.4, 2.5), (0.99, 1.01), (0, 100)),
    "log10": ((0.4, 2.5), (0.99, 1.01), (0, 100)),
    "log1p": ((-1, 1), (-0.01, 0.01), (0, 100)),
    "sin": ((-4, 4), (-1000, 1000), (-1e7, 1e7)),
    "cos": ((-4, 4), (-1000, 1000), (-1e7, 1e7)),
    "tan": ((-4, 4), (-1000, 1000), (-1e7, 1e7)),
    "asin": ((-1, 1), (0.9, 1), (-0.6, -0.4)),
    "acos": ((-1, 1), (0.9, 1), (-0.6, -0.4)),
    "atan": ((-4, 4), (-100, 100)),
    "sinh": ((-711, 711), (-90, 90), (-2, 2)),
    "cosh": ((-711, 711), (-90, 90), (-2, 2)),
    "tanh": ((-20, 20), (-1, 1)),
    "asinh": ((-4, 4), (-1000, 1000)),
    "acosh": ((1, 4), (1, 1.01), (1, 1000)),
    "atanh": ((-1, 1), (-0.1, 0.1), (0.9, 1)),
    "cbrt": ((-10, 10), (-1e6, 1e6)),
    "erf": ((-6, 6), (-1, 1)),
    "erfc": ((-6, 28), (-1, 1), (0, 11)),
    "digamma": ((0, 3), (1.46, 1.463), (3, 9), (0, 100)),
    "gammaln": ((-20, 0), (0, 3), (0.99, 1.01), (1.99, 2.01), (3, 100)),
    "erfcinv": ((0, 2), (0, 0.01), (0.9, 1.1), (0, 1e-6), (0, 1e-17), (0, 1e-100)),
    "erfinv": ((-1, 1), (0.99, 1), (-0.01, 0.01), (0.999999, 1)),
    "ndtri": ((0, 1), (0, 0.01), (0.4, 0.6), (0, 1e-6), (0, 1e-17), (0, 1e-100)),
}
# Neighbours of these are drawn too.
_SPECIAL = (
    0.25, 0.5, 1.0, 2.0, np.pi / 4, np.pi / 2, np.pi, 3 * np.pi, 87.33655, 88.722839, 103.97208, 709.782712893384,
    745.1332191019411, 710.4758600739439, 126.0, 127.0, 149.0, 1022.0, 1023.0, 1074.0,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """The largest error of a function, with its arguments; and NumPy's, or None where NumPy lacks the function."""

    name: str
    dtype: str
    simd: bool
    error: float
    where: tuple[float, ...]
    numpy: float | None
    count: int


def arguments(name: str, dtype: str, count: int, seed: int = 0) -> list[Any]:
    """Return about this many arguments of a function: one array for each operand."""
    random = np.random.default_rng(seed)
    operands = BLOCK_FUNCTIONS[name]
    if operands == 1:
        return [_numbers(name, dtype, count, random)]
    x, y = (_numbers(name, dtype, count, random) for _ in range(2))
    length = min(len(x), len(y))
    random.shuffle(y)
    x, y = x[:length], y[:length]
    if name == "pow":
        # Most powers of random numbers are out of range: here the result is drawn, and the exponent computed from it.
        half = length // 2
        bound = 740 if dtype == "float64" else 100
        base = np.exp(random.uniform(-20, 20, half)).astype(dtype)
        exponent = random.uniform(-bound, bound, half) / np.log(base.astype("float64"))
        x[:half], y[:half] = base, exponent.astype(dtype)
    else:
        half = length // 2
        with np.errstate(all="ignore"):
            y[:half] = x[:half] * np.exp(random.uniform(-3, 3, half)).astype(dtype)
    return [x, y]


def _numbers(name: str, dtype: str, count: int, random: np.random.Generator) -> Any:
    whole = np.dtype("int64" if dtype == "float64" else "int32")
    info = np.iinfo(whole)
    with np.errstate(all="ignore"):
        bits = random.integers(info.min, info.max, count // 3, dtype=whole).view(dtype)
        bits = bits[np.isfinite(bits)]
        small = random.integers(0, 2 ** (52 if dtype == "float64" else 23), 40, dtype=whole).view(dtype)
        points = np.array(_SPECIAL, dtype)
        infinity = points.dtype.type(np.inf)
        near = np.concatenate([np.nextafter(points, infinity), np.nextafter(points, -infinity)])
        fixed = np.concatenate([points, near, small, np.array([np.finfo(dtype).max, np.finfo(dtype).tiny], dtype)])
        fixed = np.concatenate([fixed, -fixed, np.zeros(1, dtype)])
        ranges = _RANGES.get(name, ((-4, 4), (-100, 100)))
        each = max(1, (count - len(bits) - len(fixed)) // len(ranges))
        drawn = [random.uniform(low, high, each).astype(dtype) for low, high in ranges]
    numbers = np.concatenate([bits, fixed, *drawn])
    # Near its zeros below 0, digamma is the difference of two terms, and only as exact as these.
    return numbers[numbers >= 0] if name == "digamma" else numbers


def _toolchain() -> Toolchain:
    toolchain = find_toolchain()
    if isinstance(toolchain, str):
        msg = f"simd_accuracy: {toolchain}."
        raise BackendUnavailableError(msg)
    return toolchain


@cache
def _library(dtype: str, toolchain: Toolchain) -> Any:
    """Compile all functions on blocks of a dtype; return the library, which lives as long as the process."""
    kind = "double" if dtype == "float64" else "float"
    lines = []
    for name, operands in BLOCK_FUNCTIONS.items():
        casts = ", ".join(f"({kind} *){v}" for v in "xy"[:operands])
        head = ", ".join(f"uintptr_t {v}" for v in "xy"[:operands])
        lines.append(
            f"int64_t run_{name}(uintptr_t n, {head}, uintptr_t o) {{ tr_v_{name}_{_SHORT[dtype]}((int64_t)n, {casts}, "
            f"({kind} *)o); return 0; }}"
        )
    body = "\n".join(lines)
    return BRIDGE.open(toolchain.probe(HEADERS + CODES + Library(simd_functions(toolchain)).needed(body) + body + "\n"))


def computed(name: str, *operands: Any) -> Any:
    """Return the results of generated C for contiguous arrays of one length."""
    dtype = operands[0].dtype.name
    out = np.empty_like(operands[0])
    run = BRIDGE.function(_library(dtype, _toolchain()), f"run_{name}", len(operands) + 2)
    run(out.size, *(x.ctypes.data for x in operands), out.ctypes.data)
    return out


def errors(name: str, values: Any, operands: list[Any]) -> Any:
    """Return the distance of values from the exact ones, in units of the last place of those."""
    dtype = values.dtype.name
    result = np.zeros(len(values))
    with mpmath.workprec(160):
        for i, (value, *xs) in enumerate(zip(values.tolist(), *(x.tolist() for x in operands), strict=True)):
            true = exact(name, *xs)
            result[i] = ulps(value, true, dtype)
    return result


def ulps(value: float, true: Any, dtype: str) -> float:
    """Return the distance of a number from an exact value, in units of the last place of that."""
    bits, least, largest = _BITS[dtype], -1074 if dtype == "float64" else -149, float(np.finfo(dtype).max)
    if mpmath.isnan(true) or np.isnan(value):
        return 0.0 if mpmath.isnan(true) and np.isnan(value) else np.inf
    if true == 0:
        return 0.0 if value == 0 else abs(value) / 2.0**least
    exponent = bits_exponent(true)
    # Beyond the largest number, infinity is the next one.
    top = 1024 if bits == 53 else 128
    if exponent >= top:
        return 0.0 if np.isinf(value) and (value > 0) == (true > 0) else float(abs(abs(value) < largest)) * np.inf
    ulp = mpmath.ldexp(1, max(exponent - bits + 1, least))
    if np.isinf(value):
        value_ = mpmath.ldexp(1, top) * (1 if value > 0 else -1)
        return float(abs(value_ - true) / ulp)
    return float(abs(mpmath.mpf(value) - true) / ulp)


def bits_exponent(true: Any) -> int:
    """Return the power of two of a number's first bit."""
    if mpmath.isinf(true):
        return 1 << 20
    return int(mpmath.frexp(true)[1]) - 1


def measure(name: str, dtype: str, count: int, seed: int = 0, compare: bool = False) -> Finding:
    """Return the largest error of a function at this many arguments."""
    operands = arguments(name, dtype, count, seed)
    values = computed(name, *operands)
    off = errors(name, values, operands)
    worst = int(np.argmax(off))
    own: float | None = None
    ufunc = getattr(np, _NUMPY.get(name, name) or "", None)
    if compare and ufunc is not None:
        with np.errstate(all="ignore"):
            own = float(errors(name, ufunc(*operands), operands).max())
    simd = name in KERNEL_BLOCKS or name + ("f" if dtype == "float32" else "") in simd_functions(_toolchain())
    return Finding(name, dtype, simd, float(off[worst]), tuple(float(x[worst]) for x in operands), own, len(values))


def page(count: int) -> str:
    """Return the page's text, measured on this machine."""
    rows = [measure(name, dtype, count, compare=True) for name in BLOCK_FUNCTIONS for dtype in DTYPES]
    lines = [HEAD.format(count=f"about {count}")]
    for row in rows:
        where = ", ".join(f"{x:.9g}" for x in row.where)
        own = "-" if row.numpy is None else f"{row.numpy:.2f}"
        how = "vectors" if row.simd else "one by one"
        lines.append(f"| {row.name} | {row.dtype} | {how} | {row.error:.2f} | {where} | {own} |\n")
    return "".join(lines)


def main() -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20000, help="arguments for each function and dtype")
    options = parser.parse_args()
    PAGE.write_text(page(options.count))
    return 0


if __name__ == "__main__":
    sys.exit(main())
