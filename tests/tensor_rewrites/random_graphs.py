"""Random graphs for fuzzing rules: mixed dtypes, lengths unknown when built that turn out 1 or others, empty axes.

Values on the way stay finite and of moderate size, so that what a rule may change (last bits, and what an overflow
becomes) cannot grow into a difference. Functions with jumps are applied to inputs only, for the same reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import rewrite, run
from treadle.rewrite import RewriteDatabaseQuery
from treadle.tensor.errors import DtypeError, ShapeError, TensorTypeError

PLAIN = RewriteDatabaseQuery()
DTYPES = ("float64", "float32", "float16", "int8", "int16", "int64", "uint8", "uint64", "bool", "complex128")
# Numbers among the operands: Python's take the dtype of the others, NumPy's have their own.
NUMBERS: list[Any] = [0, 1, -1, 2, 3, 0.0, 0.5, -1.5, 2.0, True]
NUMBERS += [np.int8(3), np.int64(-2), np.uint8(7), np.float16(0.5), np.float32(0.25), np.float64(-2.0), np.True_]
# Sums of these are exact in any order.
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5]

# Functions of one float.
UNARY: list[Any] = [
    lambda a: -a,
    abs,
    tt.sqr,
    tt.sqrt,
    tt.tanh,
    tt.sinh,
    tt.arcsinh,
    tt.sigmoid,
    tt.softplus,
    tt.exp,
    tt.expm1,
    tt.log,
    tt.log1p,
    tt.reciprocal,
    tt.sin,
    lambda a: a + 0,
    lambda a: a * 1,
    lambda a: a * -2,
    lambda a: 3 - a,
    lambda a: a + 1,
    lambda a: a / 4,
    lambda a: 1 / a,
    lambda a: 1 + tt.exp(a),
    lambda a: 1 - tt.exp(a),
    lambda a: tt.exp(-a),
    lambda a: 1 - tt.sigmoid(a),
    lambda a: tt.log(1 + a),
    lambda a: tt.log(1 + tt.exp(a)),
    lambda a: a**2,
    lambda a: a**3,
    lambda a: a**-1.0,
    lambda a: a**0.5,
    lambda a: tt.maximum(a, 0),
    lambda a: tt.minimum(tt.minimum(a, 2), 1.5),
    lambda a: a.sum(),
    lambda a: a.sum(axis=0) if a.ndim else a,
    lambda a: a.max(axis=-1, keepdims=True) if a.type.shape and a.type.shape[-1] != 0 else a,
    lambda a: a.T,
    lambda a: a.dimshuffle("x", *range(a.ndim)) if a.ndim < 3 else a,
    lambda a: a.astype("float32").astype("float64"),
    lambda a: a.reshape((-1,)),
    lambda a: tt.exp(a * 0.1).shape.sum().astype("float64"),
    tt.zeros_like,
    lambda a: a[..., :2] if a.ndim else a,
    lambda a: a[..., ::-1] if a.ndim else a,
    lambda a: tt.softmax(a, axis=-1) if a.ndim else a,
    lambda a: tt.exp(a) / tt.exp(a).sum(axis=-1, keepdims=True) if a.ndim else a,
    lambda a: tt.log(tt.exp(a).sum(axis=-1)) if a.ndim else a,
    lambda a: (a * 0.01).sum(),
    lambda a: (-a / 0.25).sum(axis=0) if a.ndim else a,
    lambda a: tt.concatenate([a, a * 0.5]).prod(axis=0) if a.ndim else a,
    lambda a: tt.concatenate([-a, a + 1])[1:] if a.ndim else a,
    lambda a: tt.alloc(a.sum(), 3).sum(),
    lambda a: tt.inc_subtensor(tt.zeros_like(a)[:1], 1.5) + a if a.ndim else a,
    lambda a: tt.set_subtensor(a[1:], a[1:] + 2) if a.ndim else a,
    lambda a: tt.dot(a * 0.5, -a.T) if a.ndim else a,
    lambda a: (a**0.5) ** 2 * a**-1.5,
]
# Functions of two operands of any dtypes that take them.
BINARY: list[Any] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a + b - a,
    lambda a, b: a * b / b,
    lambda a, b: -a * b,
    lambda a, b: a - -b,
    lambda a, b: 2 * a + 3 * b + a,
    lambda a, b: a / (tt.sqr(b) + 1),
    tt.maximum,
    tt.minimum,
    lambda a, b: tt.where(True, a, b),
    lambda a, b: -a + -b,
    tt.second,
    lambda a, b: tt.exp(a) * tt.exp(b),
    lambda a, b: tt.exp(a) / (1 + tt.exp(b)),
    lambda a, b: tt.log(tt.exp(a) + tt.exp(b)),
    lambda a, b: tt.sigmoid(a) * (1 - tt.sigmoid(a)) * b,
    lambda a, b: (a / tt.sigmoid(b)) * tt.sigmoid(b) * tt.sigmoid(-b),
]
# Functions with jumps, and those of integers and bool, are applied to inputs only.
DISCRETE: list[Any] = [
    lambda a, b: tt.where(a > b, a, b),
    lambda a, b: tt.where(a > 0, b, 0),
    lambda a, b: tt.where(tt.logical_not(a > 0), 0, b) * b,
    tt.logical_and,
    lambda a, b: tt.logical_or(tt.eq(a, b), tt.logical_not(a < b)),
    lambda a, b: (a & b) | ~a,
    lambda a, b: (a ^ b) ^ b,
    lambda a, b: (a + 100) + (b - 100),
    lambda a, b: a * 7 * b * 5,
    lambda a, b: a // 1 + b % 1,
    lambda a, b: a**3 + b,
    lambda a, b: tt.floor(tt.floor(a)) + b,
    lambda a, b: tt.sign(a) * abs(a) + b,
    lambda a, b: tt.clip(a, 1, 3) + b,
    lambda a, b: a.astype("int64").astype("float64") + b,
    lambda a, b: tt.isnan(a) | (abs(b) < 0),
    lambda a, b: tt.where(a > b, 0, a) * b,
    lambda a, b: tt.where(a > b, 1, 0) + tt.where(a > b, b, 0),
    lambda a, b: tt.where(a > b, 100, 7) - tt.where(a > b, np.int8(3), np.int64(5)),
    lambda a, b: a.sum(dtype=a.dtype) + (b > 0).any(),
    lambda a, b: tt.alloc(a[:1].sum(dtype=a.dtype), 4).prod(dtype=a.dtype) + b.max(),
    lambda a, b: tt.concatenate([a, b]).sum(),
    lambda a, b: tt.inc_subtensor(tt.inc_subtensor(a[:1], b[:1])[:1], b[:1]),
    lambda a, b: tt.maximum(tt.minimum(a, 3), b) + tt.minimum(b, np.int64(1)),
    lambda a, b: a**2 * b**2 + (a**2) ** 2.0,
]
# A value outside these bounds, other than 0, is not used further. Half precision has no room for more.
SMALLEST, LARGEST, LARGEST_HALF = 1e-3, 1e3, 32.0


@dataclass
class RandomGraph:
    """Inputs, values for them, and outputs."""

    inputs: list[Any]
    values: list[Any]
    outputs: list[Any] = field(default_factory=list)

    def evaluated(self, var: Any) -> Any:
        """Return the value of an expression as written; None where it fails, as the maximum over nothing does."""
        plain, _ = rewrite(self.inputs, [var], PLAIN)
        try:
            return run(plain, self.values)[0]
        except (ValueError, IndexError):
            return None


def random_inputs(rng: np.random.Generator, special: bool) -> RandomGraph:
    """Return vectors, a matrix and scalars of all dtypes; lengths are n, or 1, none of which the graph knows."""
    n = int(rng.choice([0, 1, 2, 3]))
    graph = RandomGraph([], [])
    for at, dtype in enumerate(DTYPES):
        for ndim in (1, 2) if at == 0 else (1,):
            shape: tuple[int, ...] = (n if rng.random() < 0.7 else 1,)
            if ndim == 2:
                shape = (int(rng.choice([1, 2])), n)
            graph.inputs.append(tt.tensor(f"{dtype}_{ndim}", dtype=dtype, shape=(None,) * ndim))
            graph.values.append((_special_values if special else _values)(rng, dtype, shape))
    graph.inputs.append(tt.dscalar("s"))
    graph.values.append(np.asarray(rng.normal()))
    return graph


def _values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype.startswith("float"):
        return (rng.normal(size=shape) * 2).astype(dtype)
    if dtype.startswith("complex"):
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)
    info = np.iinfo(dtype)
    return rng.integers(max(info.min, -5), 6, size=shape).astype(dtype)


def _special_values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    """Return values among which are NaN and infinities, or the ends of the range of integers."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype.startswith("float"):
        return rng.choice(SPECIAL, shape).astype(dtype)
    if dtype.startswith("complex"):
        # Built from parts: an infinity times the imaginary unit has a part that is NaN.
        return rng.choice(SPECIAL, (*shape, 2)).view(dtype)[..., 0]
    info = np.iinfo(dtype)
    return rng.choice(np.array([info.min, info.max, 0, 1, 2, 3], dtype), shape)


def _is_moderate(value: Any) -> bool:
    if value.dtype.kind not in "fc":
        return True
    size = np.abs(value[value != 0])
    largest = LARGEST_HALF if value.dtype == np.float16 else LARGEST
    return bool(np.isfinite(value).all() and (size >= SMALLEST).all() and (size <= largest).all())


def random_graph(rng: np.random.Generator, steps: int = 10, special: bool = False) -> RandomGraph:
    """Return a random graph with values on which it is finite; or, if `special`, with NaN and infinities among them."""
    graph = random_inputs(rng, special)
    pool: list[Any] = list(graph.inputs)
    for _ in range(steps):
        candidate = _candidate(rng, graph, pool)
        value = None if candidate is None else graph.evaluated(candidate)
        if value is not None and (special or _is_moderate(value)):
            pool.append(candidate)
    graph.outputs = pool[len(graph.inputs) :] or [graph.inputs[0] + 1]
    return graph


def _candidate(rng: np.random.Generator, graph: RandomGraph, pool: list[Any]) -> Any:
    """Return an expression of values in the pool, or None where the function does not take the operands."""
    kind = rng.random()
    source = graph.inputs if kind > 0.8 else pool
    a, b = (source[int(rng.integers(len(source)))] for _ in range(2))
    if kind >= 0.45 and rng.random() < 0.25:
        number = NUMBERS[int(rng.integers(len(NUMBERS)))]
        a, b = (a, number) if rng.random() < 0.5 else (number, b)
    try:
        if kind < 0.45:
            return UNARY[int(rng.integers(len(UNARY)))](a if a.dtype.startswith("float") else a.astype("float64"))
        table = DISCRETE if kind > 0.8 else BINARY
        return table[int(rng.integers(len(table)))](a, b)
    except (DtypeError, ShapeError, TensorTypeError):
        return None
    except (AttributeError, IndexError, TypeError):
        # Numbers lack some of what tensors have: methods, indices, operations on each other.
        return None
