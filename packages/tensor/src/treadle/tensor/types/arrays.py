"""What types of arrays know about values: size of numbers, differences, buffers in every memory layout."""

from __future__ import annotations

import itertools
import sys
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from treadle.config import text_of
from treadle.graph import ENCODERS, tagged
from treadle.tensor.errors import DtypeError, MaskedArrayError, TensorTypeError
from treadle.tensor.types.dtype_rules import check_conversion
from treadle.tensor.types.other_arrays import other_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import DTypeLike

# What `numpy.dtype.isbuiltin` is for dtypes that libraries have added.
_ADDED_DTYPE = 2
_PLAIN = frozenset((bool, int, float, complex))
# No array is nested deeper; a list may hold itself.
_DEEPEST = 64
# Bytes of what integer buffers are filled with: neither 0 nor 1 of any integer dtype.
_FILL = 0x5A
_STEPS = (1, -1, 2, -2)
# How many roundings of the largest number involved may add up in one element.
_ROUNDINGS = 64.0


def array_of(what: str, value: object, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
    """Return a plain value, such as a nested list, as an array of numbers; masked arrays are refused.

    The dtype is NumPy's choice if None. An array is copied as `copy` says; if None, only where it has another dtype.
    Arrays of other libraries, alone or within lists, are converted as `register_array` says, and those of a dtype that
    a library has added to NumPy's, such as JAX's bfloat16, to the narrowest one that holds their numbers.
    """
    try:
        value = _of_numpy(what, value)
        if dtype is not None and isinstance(value, np.ndarray | np.generic | list | tuple):
            check_conversion(what, np.asarray(value).dtype, np.dtype(dtype))
        array = np.array(value, dtype, copy=copy)
    except (DtypeError, TensorTypeError):
        raise
    except Exception as error:
        msg = (
            f"{what}: {text_of(value)} cannot be made a tensor ({error}). Pass numbers of one dtype in a regular shape."
        )
        raise TensorTypeError(msg, value) from error
    if array.dtype.isbuiltin == _ADDED_DTYPE:
        array = _widened(array)
    if array.dtype.kind == "O" and array.size and all(type(x) is int for x in array.flat):
        msg = f"{what}: {text_of(value)} does not fit in an integer dtype. Pass floats, or integers of up to 64 bits."
        raise TensorTypeError(msg, value)
    if array.dtype.kind not in "biufc":
        msg = f"{what}: {text_of(value)} is no array of numbers, NumPy makes dtype {array.dtype} of it. Pass numbers."
        raise TensorTypeError(msg, value)
    return array


def _widened(array: np.ndarray) -> np.ndarray:
    """Return an array of a dtype that is not NumPy's own in one that holds all its numbers, if there is one."""
    names = (name for name in ("uint8", "int8", "float32", "float64") if np.can_cast(array.dtype, name, "safe"))
    wider = next(names, None)
    return array if wider is None else array.astype(wider)


def _of_numpy(what: str, value: object, depth: int = 0) -> object:
    """Return a value with the arrays of other libraries in it as those of NumPy.

    An array with a mask is refused, alone or within lists: an array made of it would hold what the mask hides.
    """
    if isinstance(value, list | tuple):
        if depth >= _DEEPEST or _PLAIN.issuperset(map(type, value)):
            return value
        items = [_of_numpy(what, item, depth + 1) for item in value]
        changed = any(new is not old for new, old in zip(items, value, strict=True))
        return items if changed else value
    masked = sys.modules.get("numpy.ma")  # where nobody has loaded it, there are none, and loading it is slow
    if masked is not None and isinstance(value, masked.MaskedArray):
        msg = (
            f"{what}: tensors have no mask, got {text_of(value)}. Pass value.filled(...), and where(mask, ...) or "
            "positions to leave elements out."
        )
        raise MaskedArrayError(msg, value)
    to_array = other_array(type(value))
    return value if to_array is None else to_array(what, value)


def quick_reader(dtype: np.dtype, ndim: int, dtypes: tuple[str, ...]) -> Callable[[object], object] | None:
    """Return a function that makes an array of a dtype and rank of what loses nothing by it, and leaves all else alone.

    That is an array of another of some dtypes; and for rank 0 a NumPy scalar of these, and for int and float64 a Python
    number.
    """
    array_class, array, safe = np.ndarray, np.array, _safe_dtypes(dtype, dtypes)
    is_float = dtype == np.float64
    low, high = (-(2**53), 2**53) if is_float else (1, 0)
    if dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    scalars = frozenset({dtype.type, *(other.type for other in safe), *([float] if is_float else [])})

    def read_array(value: Any) -> object:
        if value.__class__ is array_class and value.ndim == ndim and value.dtype in safe:
            return value.astype(dtype)
        return value

    def read(value: Any) -> object:
        kind = value.__class__
        if (low <= value <= high) if kind is int else kind in scalars:
            return array(value, dtype)
        return read_array(value)

    if ndim == 0:
        return read
    return read_array if safe else None


@cache
def _safe_dtypes(dtype: np.dtype, dtypes: tuple[str, ...]) -> frozenset[np.dtype]:
    """Return those of some dtypes, but for one, whose numbers all are numbers of that one."""
    return frozenset(d for d in map(np.dtype, dtypes) if d != dtype and np.can_cast(d, dtype, "safe"))


def numbers_exceed(value: object, dtype: np.dtype, bound: float) -> bool:
    """Return whether an array holds a finite number beyond a bound, on either side."""
    array = np.asarray(value)
    if dtype.kind == "b" or not array.size:
        return False
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if limits.max <= bound and -limits.min <= bound:
            return False
        return int(array.max()) > bound or -int(array.min()) > bound
    with np.errstate(all="ignore"):
        size = np.abs(array)
        return bool((np.isfinite(size) & (size > bound)).any())


def magnitude(value: object) -> float:
    """Return the largest absolute value of the finite numbers in an array, 0 where there are none."""
    array = np.asarray(value)
    if array.dtype.kind not in "iufc" or not array.size:
        return 0.0
    with np.errstate(all="ignore"):
        # Integers as floats: the absolute value of the least one does not fit its dtype.
        size = np.abs(array if array.dtype.kind in "fc" else array.astype(np.float64))
        return float(np.where(np.isfinite(size), size, 0).max())


def agree(a: object, b: object, scale: float, where_finite: bool, close: Callable[..., bool]) -> bool:
    """Return whether two arrays agree up to rounding (see `treadle.graph.Type.agree`).

    `scale` is the size of the numbers that they were computed from; `close` compares arrays up to rounding, and takes
    ``atol``. With `where_finite` only elements that are finite in `a` count.
    """
    first, second = np.asarray(a), np.asarray(b)
    if first.dtype != second.dtype or first.shape != second.shape:
        return False
    if first.dtype.kind not in "fc":
        return close(first, second)
    if where_finite:
        kept = np.isfinite(first)
        if not kept.all():
            first, second = first[kept], second[kept]
    if close(first, second):
        return True
    rounding = _ROUNDINGS * float(np.finfo(first.dtype).eps) * max(scale, magnitude(first))
    return close(first, second, atol=rounding)


def describe_difference(a: object, b: object) -> str:
    """Return in words by how much two arrays differ at most, and where."""
    first, second = np.asarray(a), np.asarray(b)
    for what in ("dtype", "shape"):
        was, now = getattr(first, what), getattr(second, what)
        if was != now:
            return f"{what} {was} against {now}"
    if first.dtype.kind not in "biufc" or not first.size:
        return f"{a!r} against {b!r}"
    wide = np.complex128 if first.dtype.kind == "c" else np.float64
    x, y = first.astype(wide), second.astype(wide)
    with np.errstate(all="ignore"):
        same = (first == second) | ((x != x) & (y != y))
        gap = np.where(same, 0.0, np.abs(x - y))
        relative = np.where(same, 0.0, gap / np.maximum(np.abs(x), np.abs(y)))
    gap, relative = (np.where(np.isnan(d), np.inf, d) for d in (gap, relative))
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(gap)), gap.shape))
    where = f" at {at}" if at else ""
    count = f", {int((~same).sum())} of {first.size} elements differ" if first.size > 1 else ""
    return (
        f"the largest absolute difference is {float(gap.max()):.6g}{where} ({first[at]!s} against {second[at]!s}), "
        f"the largest relative one {float(relative.max()):.6g}{count}"
    )


def buffers(kind: str, like: np.ndarray, fixed: Sequence[int | None], dims: int) -> Iterator[np.ndarray]:
    """Yield buffers for an array in one memory layout (see `TensorType.preallocations`)."""
    if kind in {"c_contiguous", "f_contiguous"}:
        yield _filled(like.shape, like.dtype, "C" if kind == "c_contiguous" else "F")
        return
    free = [d for d in range(max(0, like.ndim - dims), like.ndim) if fixed[d] != 1]
    if kind == "strided":
        for steps in itertools.product(_STEPS, repeat=len(free)):
            yield _strided(like, dict(zip(free, steps, strict=True)))
    elif kind == "wrong_size":
        open_ = [d for d in free if fixed[d] is None]
        for changes in itertools.product((0, -1, 1), repeat=len(open_)):
            shape = list(like.shape)
            for d, change in zip(open_, changes, strict=True):
                shape[d] = max(0, shape[d] + change)
            if tuple(shape) != like.shape:
                yield _filled(tuple(shape), like.dtype, "C")


def _filled(shape: tuple[int, ...], dtype: np.dtype, order: Literal["C", "F"]) -> np.ndarray:
    array = np.empty(shape, dtype, order=order)
    if dtype.kind in "fc":
        array.fill(np.nan)
    elif dtype.kind == "b":
        array.fill(True)
    else:
        array.fill(int.from_bytes(bytes([_FILL] * dtype.itemsize), "little"))
    return array


def _strided(like: np.ndarray, steps: dict[int, int]) -> np.ndarray:
    """Return a buffer of an array's shape with the given steps in memory."""
    shape = tuple(n * abs(steps.get(d, 1)) for d, n in enumerate(like.shape))
    wide = _filled(shape, like.dtype, "C")
    cut: np.ndarray = wide[tuple(slice(None, None, steps.get(d, 1)) for d in range(like.ndim))]
    return cut


# Encoding

# Longer arrays are told apart by a digest, so that an encoding kept with a constant does not double its memory.
_DIGEST_ABOVE = 64


def _encode_array(array: np.ndarray) -> bytes:
    data = np.ascontiguousarray(array)
    shape = ",".join(map(str, array.shape)).encode()
    content = data.tobytes() if data.nbytes <= _DIGEST_ABOVE else blake2b(data.data, digest_size=32).digest()
    return tagged("A", array.dtype.str.encode(), shape, content)


ENCODERS.register(np.ndarray, _encode_array)
ENCODERS.register(np.generic, lambda number: _encode_array(np.asarray(number)))
ENCODERS.register(np.dtype, lambda dtype: tagged("dt", dtype.str.encode()))
