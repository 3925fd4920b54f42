"""Collections and small functions that PyTensor's modules share."""

from __future__ import annotations

import hashlib
import importlib
import platform
import subprocess
from collections.abc import Iterator, Mapping, MutableSet
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_args

import numpy as np

from treadle.as_pytensor.adapters.table import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
KIND = Literal["quicksort", "mergesort", "heapsort", "stable"]
KIND_VALUES = get_args(KIND)
VALID_ORD = Literal["fro", "f", "nuc", "inf", "-inf", 0, 1, -1, 2, -2]


class OrderedSet(MutableSet[T]):
    """A set that keeps the order in which its members came."""

    def __init__(self, iterable: Iterable[T] | None = None) -> None:
        self.values: dict[T, None] = dict.fromkeys(iterable or ())

    def __contains__(self, value: object) -> bool:
        return value in self.values

    def __iter__(self) -> Iterator[T]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def add(self, value: T) -> None:
        """Add a member."""
        self.values[value] = None

    def discard(self, value: T) -> None:
        """Take a member out, if it is one."""
        self.values.pop(value, None)

    def copy(self) -> OrderedSet[T]:
        """Return another set of the members."""
        return type(self)(self.values)

    def update(self, other: Iterable[T]) -> None:
        """Add members."""
        self.values.update(dict.fromkeys(other))

    def union(self, other: Iterable[T]) -> OrderedSet[T]:
        """Return a set of these members and others."""
        return type(self)((*self.values, *other))

    def intersection_update(self, other: Iterable[T]) -> None:
        """Keep the members that are among others."""
        kept = set(other)
        self.values = {value: None for value in self.values if value in kept}

    def difference_update(self, other: Iterable[T]) -> None:
        """Take members out."""
        for value in other:
            self.discard(value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.values)})"


class frozendict(Mapping[K, V]):  # noqa: N801 - the name in PyTensor
    """A dictionary that does not change, and can be a key if its values can."""

    def __init__(self, items: Mapping[K, V] | Iterable[tuple[K, V]] = (), **more: V) -> None:
        self._dict: dict[K, V] = dict(items, **more)

    def __getitem__(self, key: K) -> V:
        return self._dict[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def copy(self, **changes: V) -> frozendict[K, V]:
        """Return a dictionary with further items."""
        return type(self)(self._dict, **changes)

    def __hash__(self) -> int:
        return hash(frozenset(self._dict.items()))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._dict!r}>"


class AssocList(Generic[K, V]):
    """A mapping for keys that may not be hashable, such as slices."""

    def __init__(self) -> None:
        self._dict: dict[object, V] = {}
        self._list: list[tuple[K, V]] = []

    def __getitem__(self, item: K) -> V:
        value = self.get(item, _MISSING)
        if value is _MISSING:
            raise KeyError(item)
        return value  # type: ignore[return-value]  # one of the values

    def __setitem__(self, item: K, value: V) -> None:
        try:
            self._dict[item] = value
        except TypeError:
            self._list = [(key, old) for key, old in self._list if key != item]
            self._list.append((item, value))

    def __delitem__(self, item: K) -> None:
        self[item]
        try:
            del self._dict[item]
        except TypeError:
            self._list = [(key, old) for key, old in self._list if key != item]

    def get(self, item: K, default: object = None) -> object:
        """Return the value of a key, or the default."""
        try:
            return self._dict.get(item, default)
        except TypeError:
            return next((value for key, value in self._list if key == item), default)

    def clear(self) -> None:
        """Forget everything."""
        self._dict.clear()
        self._list.clear()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._dict}, {self._list})"


_MISSING = object()


class Singleton:
    """A class of which every call gives the same instance; subclasses have one each."""

    __instance: Singleton | None = None

    def __new__(cls) -> Singleton:
        """Return the instance."""
        if not isinstance(cls.__instance, cls):
            cls.__instance = super().__new__(cls)
        return cls.__instance

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


def uniq(seq: Sequence[T]) -> list[T]:
    """Return the elements in order, each once; they need not be hashable."""
    return [x for i, x in enumerate(seq) if seq.index(x) == i]


def difference(seq1: Iterable[T], seq2: Iterable[T]) -> list[T]:
    """Return the elements of one sequence that are not in the other."""
    others = list(seq2)
    return [x for x in seq1 if x not in others]


def flatten(a: object) -> list[object]:
    """Return what is in nested tuples, lists and sets as one list."""
    return [x for part in a for x in flatten(part)] if isinstance(a, tuple | list | set) else [a]


def unzip(iterable: Iterable[Iterable[T]], n: int, strict: bool = False) -> tuple[tuple[T, ...], ...]:
    """Return the first elements, the second ones and so on; `n` empty tuples of nothing."""
    columns = tuple(zip(*iterable, strict=strict))
    return columns or ((),) * n


def to_return_values(values: Sequence[T]) -> T | Sequence[T]:
    """Return the only value, or all of them."""
    return values[0] if len(values) == 1 else values


def from_return_values(values: object) -> Sequence[object]:
    """Return a list or tuple as it is, and anything else in a list."""
    return values if isinstance(values, list | tuple) else [values]


def apply_across_args(*fns: Callable[..., T]) -> Any:
    """Return functions that call each of some functions once for every argument."""

    def spread(fn: Callable[..., T], *names: Any) -> object:
        if names and isinstance(names[0], int):
            return [fn() for _ in range(names[0])]
        items = names[0] if len(names) == 1 else names
        return fn(items) if len(items) == 1 else [fn(name) for name in items]

    made = [partial(spread, fn) for fn in fns]
    return made[0] if len(made) == 1 else made


def hash_from_code(msg: str | bytes) -> str:
    """Return the letter m and the SHA256 digest of a text."""
    return f"m{hashlib.sha256(msg.encode() if isinstance(msg, str) else msg).hexdigest()}"


def hash_from_ndarray(data: np.ndarray) -> str:
    """Return a digest of an array: its elements, shape, strides and dtype."""
    data = np.ascontiguousarray(data)
    parts = (data.tobytes(), str(data.shape), str(data.strides), str(data.dtype))
    return hash_from_code("".join(hash_from_code(part) for part in parts))


def get_unbound_function(unbound: object) -> object:
    """Return the function of a method, or what was given."""
    return getattr(unbound, "__func__", unbound)


def subprocess_Popen(command: str | Sequence[str], **params: Any) -> subprocess.Popen[bytes]:  # noqa: N802 - the name in PyTensor
    """Start a program that reads nothing."""
    params.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen(command, **params)


def call_subprocess_Popen(command: str | Sequence[str], **params: Any) -> int:  # noqa: N802 - the name in PyTensor
    """Run a program, drop what it writes, and return its exit status."""
    for name in ("stdout", "stderr"):
        if name in params:
            msg = f"call_subprocess_Popen: {name} is dropped. Leave it out, or call output_subprocess_Popen."
            raise TypeError(msg)
    return output_subprocess_Popen(command, **params)[2]


def output_subprocess_Popen(command: str | Sequence[str], **params: Any) -> tuple[bytes, bytes, int]:  # noqa: N802 - as above
    """Run a program; return what it writes to standard output and error, and its exit status."""
    with subprocess_Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **params) as process:
        out, err = process.communicate()
        return out, err, process.returncode


def import_func_from_string(func_string: str) -> Any:
    """Return a function of NumPy's by its name, or of another package by its path; None if there is none."""
    function = getattr(np, func_string, None)
    if function is not None:
        return function
    module, _, name = func_string.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name, None) if module else None
    except ImportError:
        return None


def broadcast_static_dim_lengths(dim_lengths: Sequence[int | None]) -> int | None:
    """Return the length that lengths, None where unknown, broadcast to; None where that is unknown.

    Raises
    ------
    ValueError
        If two of them are known and cannot be broadcast.
    """
    longer = {n for n in dim_lengths if n is not None and n != 1}
    if len(longer) > 1:
        msg = f"broadcast_static_dim_lengths: lengths {sorted(longer)} do not broadcast."
        raise ValueError(msg)
    return next(iter(longer)) if longer else None if None in dim_lengths else 1


def normalize_reduce_axis(
    axis: int | Sequence[int] | None, ndim: int, normalize_none: bool = False
) -> tuple[int, ...] | None:
    """Return the axes of a reduction as numbers that are 0 or more; None for all axes, unless they are asked for."""
    if axis is None:
        return tuple(range(ndim)) if normalize_none else None
    axes: tuple[int, ...] = np.lib.array_utils.normalize_axis_tuple(axis, max(1, ndim))
    return axes


def may_share_memory(a: object, b: object, raise_other_type: bool = True) -> bool:
    """Whether two arrays may be parts of one memory; for other objects an error, or no."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.may_share_memory(a, b)
    if raise_other_type:
        msg = f"may_share_memory: arrays are needed, got {type(a).__name__} and {type(b).__name__}."
        raise TypeError(msg)
    return False


def get_versions() -> dict[str, str | None]:
    """Return the version of PyTensor whose names these are."""
    return {"version": VERSION, "full-revisionid": None, "dirty": None, "error": None, "date": None}


def short_platform(r: str | None = None, p: str | None = None) -> str:
    """Return the name of the platform."""
    del r
    return platform.platform() if p is None else p
