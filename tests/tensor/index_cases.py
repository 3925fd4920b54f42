"""Random index expressions: reads and writes, in NumPy and in treadle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import treadle.tensor as tt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable

LENGTHS = (0, 1, 1, 2, 3, 4)
DTYPES = ("float64", "float32", "int64", "int32", "int8", "uint8", "bool")
POSITIONS = ("int64", "int32", "int8", "uint8", "int64")
# Positions that int64 does not hold, and that 32 bits do not hold.
FAR = (2**31, -(2**31) - 1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**64 + 1)


@dataclass
class Symbol:
    """A part of an index that is an input of the graph."""

    value: Any


@dataclass
class Case:
    """One expression.

    Attributes
    ----------
    x
        The array that is indexed.
    known
        Whether each of its lengths is part of the type.
    items
        The index; its symbolic parts are `Symbol`s.
    kind
        Whether the part is read ("get"), replaced ("set") or added to ("inc").
    y
        The values that are written.
    then
        An index of the part that is read.
    """

    x: Any
    known: Sequence[bool]
    items: tuple[Any, ...]
    kind: str = "get"
    y: Any = None
    then: tuple[Any, ...] = (Ellipsis,)

    def __str__(self) -> str:
        x = f"{self.x.dtype}{self.x.shape} known {self.known}"
        return f"{self.kind} {x} at {self.items!r}{self.then!r} values {self.y!r}"

    def expected(self) -> Any:
        """Return NumPy's result, or None where NumPy refuses."""
        index = tuple(_filled(item, lambda s: s.value) for item in self.items)
        result = self.x.copy()
        try:
            part = np.array(result[index])
            if self.kind == "get":
                return np.array(part[tuple(_filled(item, lambda s: s.value) for item in self.then)])
            y = np.asarray(self.y)
            if self.kind == "set":
                result[index] = y
                return result
            if not np.can_cast(np.result_type(y, result), result.dtype, "same_kind"):
                return None
            # Broadcast here: ufunc.at reads past the end of a vector for a matrix of positions (NumPy 2.4).
            y = np.broadcast_to(y.astype(result.dtype), part.shape)
            (np.logical_or if result.dtype == bool else np.add).at(result, index, y)
        except (IndexError, ValueError, TypeError, OverflowError):
            return None
        return result

    def built(self) -> Built:
        """Return the expression as a graph."""
        symbolic = Built([], [])
        shape = tuple(n if known else None for n, known in zip(self.x.shape, self.known, strict=True))
        x: Any = symbolic.symbol(self.x, shape)
        index = tuple(_filled(item, lambda s: symbolic.symbol(np.asarray(s.value))) for item in self.items)
        part = x[index if len(index) != 1 else index[0]]
        if self.kind == "get":
            symbolic.output = part[
                tuple(_filled(item, lambda s: symbolic.symbol(np.asarray(s.value))) for item in self.then)
            ]
            return symbolic
        y = symbolic.symbol(self.y) if isinstance(self.y, np.ndarray) and self.y.ndim else self.y
        symbolic.output = part.set(y) if self.kind == "set" else part.inc(y)
        return symbolic


@dataclass
class Built:
    """A graph, and values for its inputs."""

    inputs: list[Variable]
    values: list[Any]
    output: Any = field(default=None)

    def symbol(self, value: Any, shape: Any = None) -> Variable:
        """Return an input of the graph."""
        kind = tt.TensorType(value.dtype.name, (None,) * value.ndim if shape is None else shape)
        self.inputs.append(kind())
        self.values.append(value)
        return self.inputs[-1]


def _filled(item: Any, of: Any) -> Any:
    if isinstance(item, Symbol):
        return of(item)
    if isinstance(item, slice):
        return slice(*(of(b) if isinstance(b, Symbol) else b for b in (item.start, item.stop, item.step)))
    return item


class Maker:
    """Makes cases from a generator of random numbers."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def chance(self, p: float) -> bool:
        """Return True with this probability."""
        return bool(self.rng.random() < p)

    def one_of(self, items: Sequence[Any]) -> Any:
        """Return one of the items."""
        return items[int(self.rng.integers(len(items)))]

    def case(self) -> Case:
        """Return a case."""
        shape = tuple(self.one_of(LENGTHS) for _ in range(int(self.rng.integers(5))))
        dtype = self.one_of(DTYPES)
        case = Case(self.array(shape, dtype), [self.chance(0.5) for _ in shape], self.items(shape))
        case.kind = self.one_of(("get", "set", "inc"))
        if case.kind != "get":
            case.y = self.values(case)
        elif self.chance(0.4):
            part = case.expected()
            case.then = case.then if part is None else self.items(part.shape)
        return case

    def array(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Return an array of small whole numbers."""
        low = 0 if dtype in {"uint8", "bool"} else -9
        return np.asarray(self.rng.integers(low, 10, shape)).astype(dtype)

    def values(self, case: Case) -> Any:
        """Return values to write; a single one where a position is written twice."""
        index = tuple(_filled(item, lambda s: s.value) for item in case.items)
        hits = np.zeros(case.x.shape, int)
        shape: tuple[int, ...] = ()
        try:
            shape = hits[index].shape
            np.add.at(hits, index, 1)
        except (IndexError, ValueError, OverflowError):
            pass
        dtype = str(case.x.dtype) if self.chance(0.6) else self.one_of(DTYPES)
        wanted = list(shape) if self.chance(0.7) else [n if self.chance(0.5) else 1 for n in shape]
        if self.chance(0.3):
            wanted = wanted[int(self.rng.integers(len(wanted) + 1)) :]
        if wanted and self.chance(0.05):
            wanted[0] += 2
        if (hits > 1).any() and case.kind == "set":
            return np.full(wanted, self.array((), dtype), dtype)
        return self.array(tuple(wanted), dtype)

    def items(self, shape: tuple[int, ...]) -> tuple[Any, ...]:
        """Return an index of an array of this shape."""
        items: list[Any] = []
        common = self.one_of([(2,), (3,), (1,), (0,), (2, 2), (1, 3), (2, 1)])
        style = self.one_of(["basic", "basic", "any", "arrays"])
        d, dots = 0, self.chance(0.4)
        end = len(shape) if self.chance(0.6) else int(self.rng.integers(len(shape) + 1))
        while d < end:
            if self.chance(0.12):
                items.append(None)
                continue
            if dots and self.chance(0.3):
                items.append(Ellipsis)
                dots = False
                d += int(self.rng.integers(len(shape) - d + 1))
                continue
            item, taken = self.item(shape[d:], common, style)
            items.append(item)
            d += taken
        if dots and self.chance(0.5):
            items.insert(int(self.rng.integers(len(items) + 1)), Ellipsis)
        if self.chance(0.15):
            items.insert(int(self.rng.integers(len(items) + 1)), None)
        if self.chance(0.01):
            items.append(0)
        return tuple(items)

    def item(self, shape: tuple[int, ...], common: tuple[int, ...], style: str) -> tuple[Any, int]:
        """Return an item, and how many dimensions it takes."""
        n = shape[0]
        choice = self.rng.random()
        arrays = {"basic": 0.0, "any": 0.3, "arrays": 0.7}[style]
        if choice < arrays * 0.2:
            rank = int(self.rng.integers(1, len(shape) + 1))
            return self.mask(shape[:rank]), rank
        if choice < arrays:
            return self.positions(n, common), 1
        return (self.position(n) if choice > 0.75 else self.slice(n)), 1

    def mask(self, shape: tuple[int, ...]) -> Any:
        """Return a mask, of another shape now and then."""
        wanted = [k + int(self.rng.integers(-1, 2)) if self.chance(0.08) else k for k in shape]
        mask = self.rng.random([max(k, 0) for k in wanted]) < self.one_of([0.0, 0.5, 0.5, 1.0])
        return mask.tolist() if mask.size and self.chance(0.3) else mask

    def positions(self, n: int, common: tuple[int, ...]) -> Any:
        """Return positions that broadcast to a common shape."""
        shape = list(common) if self.chance(0.95) else [int(self.rng.integers(1, 4))]
        shape = [1 if self.chance(0.15) else k for k in shape]
        if len(shape) > 1 and self.chance(0.3):
            del shape[0]
        wide = int(self.chance(0.03))
        dtype = self.one_of(POSITIONS)
        low = 0 if dtype == "uint8" else -n - wide
        positions = np.asarray(self.rng.integers(low, max(n + wide, low + 1), shape)).astype(dtype)
        choice = self.rng.random()
        if choice < 0.3:
            return Symbol(positions)
        if choice < 0.5:
            return positions.tolist()
        if choice < 0.6 and n:
            start = int(self.rng.integers(n))
            return range(start, start + common[-1]) if start + common[-1] <= n else range(n)
        return positions

    def position(self, n: int) -> Any:
        """Return a position, rarely out of bounds."""
        at = int(self.rng.integers(-n, n)) if n and self.chance(0.96) else int(self.rng.integers(-n - 2, n + 3))
        if self.chance(0.01):
            return self.one_of(FAR)
        choice = self.rng.random()
        dtype = "uint8" if at >= 0 and self.chance(0.2) else self.one_of(("int64", "int32", "int8"))
        if choice < 0.3:
            return Symbol(np.array(at, dtype))
        if choice < 0.5:
            return np.dtype(dtype).type(at)
        return np.array(at, dtype) if choice < 0.55 else at

    def slice(self, n: int) -> slice:
        """Return a slice."""
        if self.chance(0.25):
            return slice(None)
        step = self.one_of([None, None, 1, 2, 3, -1, -1, -2, -3, *FAR[:5]]) if self.chance(0.5) else None
        return slice(self.bound(n), self.bound(n), self.shown(step))

    def bound(self, n: int) -> Any:
        """Return a bound of a slice."""
        if self.chance(0.3):
            return None
        return self.shown(self.one_of(FAR) if self.chance(0.08) else int(self.rng.integers(-n - 2, n + 3)))

    def shown(self, bound: int | None) -> Any:
        """Return a bound as a Python integer, a NumPy integer or a symbol."""
        if bound is None or not -(2**63) <= bound < 2**63:
            return bound
        choice = self.rng.random()
        if choice < 0.3:
            return Symbol(np.array(bound, "int64"))
        if choice < 0.4 and bound >= 0:
            return Symbol(np.array(bound, "uint64"))
        return np.int64(bound) if choice < 0.5 else bound
