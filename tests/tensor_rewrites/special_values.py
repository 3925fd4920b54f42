"""Random small expressions of elementwise functions over the special values of every dtype, in treadle and in NumPy.

An expression is a nested `Call`; its leaves are names of inputs, Python numbers and NumPy scalars. Many expressions go
into one graph, each with inputs of its own, so that each is rewritten as if it were alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import rewrite, run
from treadle.graph import toposort
from treadle.rewrite import RewriteDatabaseQuery
from treadle.tensor.elementwise.scalar_op import SCALAR_OPS
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.errors import DtypeError
from treadle.tensor.families import ELEMENTWISE_ROOMS, load_families
from treadle.tensor.rewrites.analysis.predicates import applies

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from treadle.rewrite import Report

PLAIN = RewriteDatabaseQuery()
DTYPES = ("float64", "float32", "float16", "int8", "uint8", "int64", "uint64", "bool", "complex128")
# Casts that are tried as functions of one operand.
_CASTS = ("float16", "float32", "float64", "int8", "uint8", "int64", "bool", "complex64")
_nan, _inf = float("nan"), float("inf")
NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 3, -2, 256, True, False),
    *(0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.0, -3.0, 4.0, 0.1, 1e30, _nan, _inf, -_inf),
    *(np.int8(1), np.int8(0), np.int8(-1), np.int8(100), np.uint8(1), np.uint8(0), np.uint8(255), np.int64(2)),
    *(np.int64(0), np.uint64(1), np.True_, np.False_, np.float16(1), np.float32(0.5), np.float32(-0.0)),
    *(np.float64(0), np.float64(1), np.complex64(1j), np.complex128(0)),
)


@dataclass(frozen=True)
class Call:
    """An elementwise function by the name of its scalar op, applied to names of inputs, numbers and calls."""

    name: str
    args: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(str(a) if isinstance(a, str | Call) else repr(a) for a in self.args)})"


def functions(nin: int) -> list[str]:
    """Return the names of the functions of a number of operands."""
    return [name for name in sorted(_NAMES) if SCALAR_OPS[name].nin == nin]


# The families' functions in a fixed order: other imports must not change which expressions are drawn.
_MODULES = [module for room in ELEMENTWISE_ROOMS for module in load_families(f"treadle.tensor.{room}")]
_DEFINED = [value for module in _MODULES for value in vars(module).values() if isinstance(value, Elemwise)]
_NAMES = {v.scalar_op.name for v in _DEFINED if not v.scalar_op.name.startswith("cast_")} | {
    f"cast_{d}" for d in _CASTS
}
UNARY, BINARY = functions(1), functions(2)


def special(dtype: str) -> Any:
    """Return the special values of a dtype: NaN, infinities, both zeros, subnormals, extremes, and ordinary numbers."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind in "iu":
        low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        negative = [-1, -2, -3] if kind.kind == "i" else []
        return np.array([low, low + 1, 0, 1, 2, 3, 7, 100, high // 2 + 1, high - 1, high, *negative], kind)
    if kind.kind == "c":
        parts = [_nan, _inf, -_inf, 0.0, -0.0, 1.0, -2.5, 0.5]
        return np.array([complex(a, b) for a in parts for b in parts], kind)
    info: Any = np.finfo(kind)
    tiny, largest = float(info.smallest_subnormal), float(info.max)
    near_ends = [tiny, -tiny, info.smallest_normal, largest, -largest, info.eps]
    # Squares of these overflow and underflow, or nearly so.
    near_ends += [largest**0.5 / 2, largest**0.5 * 4, float(info.smallest_normal) ** 0.5 / 8]
    ordinary = [1, -1, 0.5, -0.5, 2, -3.5, 3, 30, -30, 1.5, 0.1]
    return np.array([_nan, _inf, -_inf, 0.0, -0.0, *ordinary, *near_ends]).astype(kind)


@dataclass
class Sample:
    """An expression with inputs and values of its own."""

    call: Call
    inputs: dict[str, Any]
    values: dict[str, Any]
    out: Any

    def __str__(self) -> str:
        return f"{self.call} of {', '.join(f'{n}: {v.dtype}' for n, v in self.inputs.items())}"


def symbolic(call: Any, inputs: dict[str, Any]) -> Any:
    """Return a call as a treadle expression."""
    if isinstance(call, str):
        return inputs[call]
    if not isinstance(call, Call):
        return call
    return Elemwise(SCALAR_OPS[call.name])(*(symbolic(a, inputs) for a in call.args))


def numeric(call: Any, values: dict[str, Any]) -> Any:
    """Return the value of a call in NumPy; where the scalar op is a ufunc, it decides the dtypes."""
    if isinstance(call, str):
        return values[call]
    if not isinstance(call, Call):
        return call
    scalar_op = SCALAR_OPS[call.name]
    args = [numeric(a, values) for a in call.args]
    # NumPy's positive, unlike the copy, takes no bool; its reciprocals of integers are cut to integers.
    whole = scalar_op.name == "reciprocal" and np.asarray(args[0]).dtype.kind in "iub"
    if scalar_op.ufunc is not None and scalar_op.name != "identity" and not whole:
        return getattr(np, scalar_op.ufunc)(*args)
    weak = [type(a) if type(a) in {int, float, complex} else np.asarray(a).dtype for a in args]
    loops, out = scalar_op.signature(weak)
    return np.asarray(scalar_op.impl(*(np.asarray(a).astype(d) for a, d in zip(args, loops, strict=True)))).astype(out)


def _names(call: Any) -> Iterator[str]:
    if isinstance(call, str):
        yield call
    elif isinstance(call, Call):
        for a in call.args:
            yield from _names(a)


def sample(call: Call, dtypes: dict[str, str]) -> Sample | None:
    """Return a call with inputs of the dtypes and every combination of their values; None if it cannot be built."""
    names = sorted(set(_names(call)))
    inputs = {n: tt.vector(n, dtype=dtypes[n]) for n in names}
    try:
        # NumPy warns of numbers that are infinite in a short dtype.
        with np.errstate(all="ignore"):
            out = symbolic(call, inputs)
    except DtypeError:
        return None
    each = [special(dtypes[n]) for n in names]
    # Three inputs, and complex ones, would make too many combinations of everything.
    each = [v if len(v) <= 25 else v[:: len(v) // 21] for v in each] if len(names) > 1 else each
    at = np.meshgrid(*(np.arange(len(v)) for v in each), indexing="ij")
    values = {n: v[i.ravel()] for n, v, i in zip(names, each, at, strict=True)}
    return Sample(call, inputs, values, out)


def random_sample(rng: random.Random) -> Sample | None:
    """Return a random expression of up to three functions, with at least one input; None if it cannot be built."""
    first = rng.choice(DTYPES)
    dtypes = {"x": first, "y": first if rng.random() < 0.5 else rng.choice(DTYPES), "c": "bool"}

    def leaf() -> Any:
        kind = rng.random()
        return "x" if kind < 0.4 else "y" if kind < 0.7 else rng.choice(NUMBERS)

    def part(depth: int) -> Any:
        kind = rng.random()
        if depth == 0:
            return leaf()
        if kind < 0.35:
            return Call(rng.choice(UNARY), (part(depth - 1),))
        if kind < 0.45:
            return Call("switch", ("c", leaf(), leaf()))
        return pair(part(depth - 1), leaf())

    def pair(a: Any, b: Any) -> Call:
        return Call(rng.choice(BINARY), (a, b) if rng.random() < 0.5 else (b, a))

    kind = rng.random()
    if kind < 0.12:
        call = Call(rng.choice(UNARY), (part(1),))
    else:
        call = pair(part(1), leaf()) if kind < 0.8 else pair(part(1 if kind < 0.95 else 2), part(kind < 0.95))
    return sample(call, dtypes) if any(_names(call)) else None


def random_samples(rng: random.Random, count: int) -> list[Sample]:
    """Return as many random expressions as can be computed: powers of integers by negative numbers cannot."""
    samples: list[Sample] = []
    while len(samples) < count:
        candidate = random_sample(rng)
        if (
            candidate is not None
            and _oracle(candidate) is not None
            and not (_magnifies(candidate.call) or _widens(candidate.out))
        ):
            samples.append(candidate)
    return samples


# Functions that amplify the last bits of large operands; powers may differ in these.
_MAGNIFYING = frozenset({"mod", "floor_div", "sin", "cos", "tan"})


def _magnifies(call: Any, below: bool = False) -> bool:
    """Whether an expression magnifies the rounding of a power."""
    if not isinstance(call, Call):
        return False
    if below and call.name == "pow":
        return True
    return any(_magnifies(a, below or call.name in _MAGNIFYING) for a in call.args)


def _widens(out: Any) -> bool:
    """Whether a power has fewer digits than the result, so that its last bit is worth many of the result's."""
    digits = np.finfo(out.dtype).nmant if out.type.numpy_dtype.kind in "fc" else 0
    powers = (
        tt.as_tensor_variable(node.outputs[0]).type.numpy_dtype for node in toposort([out]) if applies(node, tt.power)
    )
    return any(dtype.kind in "fc" and np.finfo(dtype).nmant < digits for dtype in powers)


def pairs_of_functions(dtype: str) -> list[Sample]:
    """Return f(g(x)) for all functions f and g of one operand."""
    samples = [sample(Call(f, (Call(g, ("x",)),)), {"x": dtype}) for f in UNARY for g in UNARY]
    return [s for s in samples if s is not None]


def pairs_with_operands(first: str, second: str) -> list[Sample]:
    """Return f(x, g(x, y)) and f(g(x, y), x) for all functions f and g of two operands, of two dtypes."""
    inner = [Call(g, ("x", "y")) for g in BINARY]
    calls = [Call(f, args) for f in BINARY for g in inner for args in (("x", g), (g, "x"))]
    samples = [sample(call, {"x": first, "y": second}) for call in calls]
    return [s for s in samples if s is not None and _oracle(s) is not None]


def _oracle(item: Sample) -> Any:
    """Return the value in NumPy, None where NumPy refuses it."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(numeric(item.call, item.values))
    except (TypeError, ValueError, OverflowError):
        return None


def values_of(samples: Sequence[Sample], query: RewriteDatabaseQuery) -> tuple[list[Any], Report]:
    """Return the values of expressions that are rewritten as outputs of one graph, and the report."""
    inputs = [v for s in samples for v in s.inputs.values()]
    with np.errstate(all="ignore"):
        fgraph, report = rewrite(inputs, [s.out for s in samples], query)
        return run(fgraph, [v for s in samples for v in s.values.values()]), report


def expected_of(samples: Sequence[Sample]) -> list[Any]:
    """Return the values in NumPy, broadcast over all combinations of the inputs."""
    return [np.asarray(_oracle(s)) for s in samples]


# Comparing


def differing(old: Any, new: Any, ulps: float) -> Any:
    """Return where two values are of different classes (NaN, an infinity, a zero, finite) or differ in a sign or size.

    Finite numbers may differ by so many units in the last place, the parts of complex ones by those of the larger part.
    """
    if old.dtype.kind not in "fc":
        return old != new
    if old.dtype.kind == "f":
        return _parts_differ(old, new, ulps, np.maximum(abs(old), abs(new)), zeros_count=True)
    both = (old.real, old.imag, new.real, new.imag)
    size = np.max([np.where(np.isfinite(part), abs(part), 0) for part in both], axis=0)
    parts = [_parts_differ(a, b, ulps, size, zeros_count=False) for a, b in zip(both[:2], both[2:], strict=True)]
    return (parts[0] | parts[1]) & ~(np.isnan(old) & np.isnan(new))


def _parts_differ(old: Any, new: Any, ulps: float, size: Any, zeros_count: bool) -> Any:
    with np.errstate(all="ignore"):
        finite = np.isfinite(old) & np.isfinite(new)
        away = ~finite & (old != new) & ~(np.isnan(old) & np.isnan(new))
        zeros = (old == 0) & (new == 0) & (np.signbit(old) != np.signbit(new))
        if zeros_count:
            zeros |= (old == 0) != (new == 0)
        unit = np.spacing(np.where(np.isfinite(size), size, 0).astype(old.dtype))
        apart = np.abs(np.where(finite, old, 0) / 2 - np.where(finite, new, 0) / 2) > ulps / 2 * unit
        return away | zeros | (finite & apart)


def differences(
    samples: Sequence[Sample], before: Sequence[Any], after: Sequence[Any], ulps: float
) -> list[tuple[Sample, str]]:
    """Return the expressions whose values differ, each with its first difference."""
    different = []
    for item, old, new in zip(samples, before, after, strict=True):
        if old.dtype != new.dtype or old.shape != new.shape:
            different.append((item, f"{item}: {old.dtype} of shape {old.shape} became {new.dtype} of {new.shape}"))
            continue
        where = np.flatnonzero(differing(old, new, ulps))
        if where.size:
            at = {n: v[where[0]] for n, v in item.values.items()} if old.ndim else {}
            text = f"{item}: {old.flat[where[0]]!r} became {new.flat[where[0]]!r} ({where.size} of {old.size}), at {at}"
            different.append((item, text))
    return different
