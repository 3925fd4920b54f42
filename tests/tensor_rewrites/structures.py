"""Random graphs of structural ops, with values that fit, lengths 0 and 1 among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import treadle.tensor as tt
from tests.tensor_rewrites.graphs import rewrite, run
from treadle.rewrite import RewriteDatabaseQuery

if TYPE_CHECKING:
    from collections.abc import Callable

Rng = np.random.Generator
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300])


class Program:
    """A random program: inputs, their values, and candidates for outputs.

    Parameters
    ----------
    seed
        Of everything random in it.
    special
        Whether some inputs hold NaN, infinities and zeros of both signs.
    """

    def __init__(self, seed: int, special: bool = False) -> None:
        self.rng = np.random.default_rng(seed)
        self.special = special
        self.inputs: list[Any] = []
        self.values: list[Any] = []
        self.pool: list[tuple[Any, Any]] = []
        lengths = [int(n) for n in self.rng.choice([0, 1, 1, 2, 3, 4], size=3)]
        for ndim in (1, 1, 2, 2, 3, 0):
            self._input(tuple(int(self.rng.choice(lengths)) for _ in range(ndim)))
        for _ in range(2):
            self._scalar(int(self.rng.integers(-3, 4)))

    def _input(self, shape: tuple[int, ...]) -> None:
        dtype = "float64" if self.rng.random() < 0.75 else "int64"
        value = np.asarray(self.rng.normal(size=shape) * 3).astype(dtype)
        if self.special and dtype == "float64" and value.size:
            spots = self.rng.random(shape) < 0.3
            value = np.where(spots, self.rng.choice(SPECIAL, size=shape), value)
        known = tuple(n if self.rng.random() < 0.3 else None for n in shape)
        self._add(tt.tensor(f"x{len(self.inputs)}", dtype=dtype, shape=known), np.asarray(value))

    def _scalar(self, value: int) -> None:
        self.inputs.append(tt.lscalar(f"n{len(self.inputs)}"))
        self.values.append(np.array(value))

    def _add(self, var: Any, value: Any) -> None:
        self.inputs.append(var)
        self.values.append(value)
        self.pool.append((var, value))

    def pick(self, ndim: int | None = None) -> tuple[Any, Any]:
        """Return one of the values so far, of a rank if one is given."""
        fitting = [p for p in self.pool if ndim is None or p[1].ndim == ndim]
        return fitting[int(self.rng.integers(len(fitting)))]

    def bound(self) -> tuple[Any, int | None]:
        """Return a bound of a slice: nothing, a number, or one of the integer inputs."""
        kind = self.rng.random()
        if kind < 0.35:
            return None, None
        if kind < 0.8:
            n = int(self.rng.integers(-4, 5))
            return n, n
        at = len(self.inputs) - 1 - int(self.rng.integers(2))
        at = next(i for i in range(at, -1, -1) if self.inputs[i].type.dtype == "int64" and self.inputs[i].ndim == 0)
        return self.inputs[at], int(self.values[at])

    def index(self, value: Any) -> tuple[Any, Any]:
        """Return a random index for a value, as expressions and as numbers."""
        symbolic: list[Any] = []
        plain: list[Any] = []
        for n in value.shape:
            if n and self.rng.random() < 0.3:
                at = int(self.rng.integers(-n, n))
                symbolic.append(at)
                plain.append(at)
                continue
            (a, i), (b, j) = self.bound(), self.bound()
            step = int(self.rng.choice([1, 1, 1, 2, -1, -2]))
            symbolic.append(slice(a, b, None if step == 1 else step))
            plain.append(slice(i, j, step))
        return tuple(symbolic), tuple(plain)

    def step(self) -> None:
        """Try one random op; what NumPy refuses is left out."""
        build: Callable[[Program], Any] = STEPS[int(self.rng.integers(len(STEPS)))]
        try:
            var = build(self)
        except (ValueError, IndexError, TypeError):
            return
        if var is None or var.ndim > 4:
            return
        plain, _ = rewrite(self.inputs, [var], RewriteDatabaseQuery())
        try:
            (value,) = run(plain, self.values)
        except (ValueError, IndexError):
            return
        if value.size <= 500:
            self.pool.append((var, value))

    def outputs(self) -> list[Any]:
        """Return the computed values, and shapes of them."""
        computed = [var for var, _ in self.pool if var.owner is not None][-4:]
        return [*computed, *(var.shape for var in computed if var.ndim)] or [self.inputs[0]]


def _indexed(p: Program) -> Any:
    x, value = p.pick()
    return x[p.index(value)[0]] if value.ndim else None


def _indexed_twice(p: Program) -> Any:
    x, value = p.pick()
    if not value.ndim:
        return None
    first, plain = p.index(value)
    part = value[plain]
    return x[first][p.index(part)[0]] if part.ndim else None


def _written(p: Program) -> Any:
    x, value = p.pick()
    if not value.ndim:
        return None
    symbolic, plain = p.index(value)
    part, shape = x[symbolic], value[plain].shape
    filling: Any = 2 if p.rng.random() < 0.4 else tt.alloc(np.asarray(3, value.dtype), *shape)
    if p.rng.random() < 0.3:
        filling = part * 2
    if part is x:
        return None
    written = (tt.set_subtensor if p.rng.random() < 0.5 else tt.inc_subtensor)(part, filling)
    return written[symbolic] if p.rng.random() < 0.3 else written


def _into_zeros(p: Program) -> Any:
    x, value = p.pick()
    if not value.ndim:
        return None
    zeros = tt.zeros_like(x)
    part = zeros[p.index(value)[0]]
    return None if part is zeros else x + tt.inc_subtensor(part, 2)


def _positions(p: Program) -> Any:
    x, value = p.pick()
    if not value.ndim or not value.shape[0]:
        return None
    n = value.shape[0]
    at = p.rng.integers(-n, n, size=int(p.rng.integers(1, 4)))
    if p.rng.random() < 0.4:
        at = np.arange(n)[:: int(p.rng.choice([1, -1]))]
    picked = x[at]
    return picked[0] if p.rng.random() < 0.3 else (tt.inc_subtensor(picked, 1) if p.rng.random() < 0.4 else picked)


def _shuffled(p: Program) -> Any:
    x, value = p.pick()
    order: list[Any] = [int(d) for d in p.rng.permutation(value.ndim)]
    order = [d for d in order if not (value.shape[d] == 1 and p.rng.random() < 0.5 and x.type.shape[d] in {1, None})]
    if len(order) < 4 and p.rng.random() < 0.6:
        order.insert(int(p.rng.integers(len(order) + 1)), "x")
    return x.dimshuffle(*order)


def _reshaped(p: Program) -> Any:
    x, value = p.pick()
    kind = int(p.rng.integers(4))
    if kind == 0:
        return x.reshape((-1,))
    if kind == 1:
        return x.reshape((*(x.shape[d] for d in range(value.ndim)), 1))
    if kind == 2 and value.ndim > 1:
        return x.reshape((x.shape[0] * x.shape[1], *(x.shape[d] for d in range(2, value.ndim))))
    return x.reshape((*value.shape[::-1],))


def _joined(p: Program) -> Any:
    x, value = p.pick()
    if not value.ndim:
        return tt.stack([x, x * 2, x])[int(p.rng.integers(3))]
    axis = int(p.rng.integers(value.ndim))
    others = [
        v
        for v, w in p.pool
        if w.ndim == value.ndim and np.delete(w.shape, axis).tolist() == np.delete(value.shape, axis).tolist()
    ]
    y = others[int(p.rng.integers(len(others)))]
    joined = tt.concatenate([x, y, x] if p.rng.random() < 0.3 else [x, y], axis=axis)
    cut = (*(slice(None) for _ in range(axis)), slice(x.shape[axis], None))
    return joined[cut] if p.rng.random() < 0.3 else joined


def _cut(p: Program) -> Any:
    x, value = p.pick()
    if not value.ndim:
        return None
    n = p.bound()[0]
    return None if n is None else tt.concatenate([x[:n], x[n:]])


def _reduced(p: Program) -> Any:
    x, value = p.pick()
    axes = tuple(d for d in range(value.ndim) if p.rng.random() < 0.6)
    kind = ["sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "sum", "sum"][int(p.rng.integers(10))]
    if p.rng.random() < 0.4:
        x = -x if p.rng.random() < 0.5 else x * 3
    return getattr(tt, kind)(x, axis=axes, keepdims=bool(p.rng.random() < 0.3))


def _spread(p: Program) -> Any:
    x, value = p.pick()
    shape = [x.shape[d] if n != 1 or p.rng.random() < 0.5 else 3 for d, n in enumerate(value.shape)]
    spread = tt.alloc(x, int(p.rng.integers(0, 4)), *shape) if p.rng.random() < 0.5 else tt.alloc(x, *shape)
    return tt.exp(-tt.sqr(spread)) if p.rng.random() < 0.3 else spread


def _spread_and_reduced(p: Program) -> Any:
    spread = _spread(p)
    axes = tuple(d for d in range(spread.ndim) if p.rng.random() < 0.7)
    return getattr(tt, ["sum", "prod", "max", "any"][int(p.rng.integers(4))])(spread, axis=axes)


def _multiplied(p: Program) -> Any:
    (x, a), (y, b) = p.pick(), p.pick()
    if not a.ndim or not b.ndim:
        return None
    product = tt.matmul(x * 2, -y) if p.rng.random() < 0.3 else tt.matmul(x, y)
    return product if p.rng.random() < 0.7 or product.ndim < 2 else product.swapaxes(-1, -2)


def _function(p: Program) -> Any:
    x, _ = p.pick()
    functions: list[Any] = [tt.tanh, tt.neg, abs, lambda v: v * 2, lambda v: v.astype("float64") / 4]
    return functions[int(p.rng.integers(5))](x)


def _combined(p: Program) -> Any:
    (x, a), (y, b) = p.pick(), p.pick()
    np.broadcast_shapes(a.shape, b.shape)
    return [tt.add, tt.mul, tt.sub, tt.maximum][int(p.rng.integers(4))](x, y)


STEPS: tuple[Any, ...] = (
    _indexed,
    _indexed,
    _indexed_twice,
    _written,
    _into_zeros,
    _positions,
    _shuffled,
    _shuffled,
    _reshaped,
    _joined,
    _cut,
    _reduced,
    _reduced,
    _spread,
    _spread_and_reduced,
    _multiplied,
    _function,
    _combined,
)


def program(seed: int, steps: int = 12, special: bool = False) -> Program:
    """Return a random program of this many steps."""
    random_program = Program(seed, special)
    for _ in range(steps):
        random_program.step()
    return random_program
