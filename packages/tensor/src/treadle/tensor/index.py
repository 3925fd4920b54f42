"""Index expressions: what stands between the brackets, split into static structure and symbolic parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Operand, Variable, as_index
from treadle.tensor.conversion import as_tensor_variable, constant
from treadle.tensor.errors import IndexingError
from treadle.tensor.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Symbolic:
    """Place of a value that is an input of the node."""

    def __repr__(self) -> str:
        """Show as ``?``."""
        return "?"


SYMBOLIC = Symbolic()
Bound = int | Symbolic | None


@dataclass(frozen=True, slots=True)
class At:
    """One position; the dimension is dropped."""

    value: int | Symbolic

    def __str__(self) -> str:
        """Show the position."""
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Span:
    """A slice."""

    start: Bound = None
    stop: Bound = None
    step: Bound = None

    @property
    def is_full(self) -> bool:
        """Whether everything is taken, in order."""
        return self.start in {None, 0} and self.stop is None and self.step in {None, 1}

    def __str__(self) -> str:
        """Show as in Python."""
        parts = ["" if b is None else str(b) for b in (self.start, self.stop)]
        return ":".join(parts) if self.step is None else ":".join([*parts, str(self.step)])


@dataclass(frozen=True, slots=True)
class Positions:
    """An integer array of positions, an input of the node."""

    def __str__(self) -> str:
        """Show as ``array``."""
        return "array"


Entry = At | Span | Positions


def symbolic_count(entries: Sequence[Entry]) -> int:
    """Return how many inputs the entries take."""
    return sum(1 for _ in _symbolic_places(entries))


def bound_inputs(entries: Sequence[Entry], first: int) -> tuple[int, ...]:
    """Return the positions of the inputs that are bounds of slices, which decide the result's shape.

    Parameters
    ----------
    entries
        The entries.
    first
        Position of the first index input of the node.
    """
    found: list[int] = []
    at = first
    for entry in entries:
        count = symbolic_count([entry])
        if isinstance(entry, Span):
            found += range(at, at + count)
        at += count
    return tuple(found)


def _symbolic_places(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    for at, entry in enumerate(entries):
        if isinstance(entry, At):
            if isinstance(entry.value, Symbolic):
                yield at, "value"
        elif isinstance(entry, Span):
            for name in ("start", "stop", "step"):
                if isinstance(getattr(entry, name), Symbolic):
                    yield at, name
        else:
            yield at, "positions"


def filled_index(entries: Sequence[Entry], values: Sequence[Any]) -> tuple[Any, ...]:
    """Return the index for NumPy: entries with the symbolic parts taken from values, in order."""
    given = iter(values)

    def take(bound: Bound) -> Any:
        return int(next(given)) if isinstance(bound, Symbolic) else bound

    index: list[Any] = []
    for entry in entries:
        if isinstance(entry, At):
            index.append(take(entry.value))
        elif isinstance(entry, Span):
            index.append(slice(take(entry.start), take(entry.stop), take(entry.step)))
        else:
            index.append(next(given))
    return tuple(index)


def index_pieces(entries: Sequence[Entry], inputs: Sequence[Variable]) -> list[list[str | Operand]]:
    """Return what stands between the brackets of a formula: text and index inputs for each dimension.

    Full slices at the end are left out.
    """
    given = iter(inputs)

    def shown(bound: Bound) -> list[str | Operand]:
        if bound is None:
            return []
        return [Operand(next(given)) if isinstance(bound, Symbolic) else str(bound)]

    items: list[list[str | Operand]] = []
    for entry in entries:
        if isinstance(entry, At):
            items.append(shown(entry.value))
        elif isinstance(entry, Span):
            item = [*shown(entry.start), ":", *shown(entry.stop)]
            items.append(item if entry.step is None else [*item, ":", *shown(entry.step)])
        else:
            items.append([Operand(next(given))])
    while len(items) > 1 and items[-1] == [":"]:
        items.pop()
    return items


def span_length(entry: Span, n: int | None) -> int | None:
    """Return the static length of a slice of a dimension, None where it is unknown."""
    if entry.is_full:
        return n
    if n is None or any(isinstance(b, Symbolic) for b in (entry.start, entry.stop, entry.step)):
        return None
    bounds: Any = (entry.start, entry.stop, entry.step)
    return len(range(n)[slice(*bounds)])


@dataclass(frozen=True, slots=True)
class Index:
    """A parsed index expression.

    Attributes
    ----------
    entries
        One entry for each dimension of the tensor, without new axes.
    inputs
        The symbolic parts and index arrays, in order.
    new_axes
        Positions, in the result of a basic index, where a dimension of length 1 is inserted.
    """

    entries: tuple[Entry, ...]
    inputs: tuple[Any, ...]
    new_axes: tuple[int, ...]

    @property
    def is_basic(self) -> bool:
        """Whether there are no index arrays."""
        return not any(isinstance(e, Positions) for e in self.entries)


def _bound(what: str, b: Any, inputs: list[Any]) -> Bound:
    if b is None:
        return None
    known = as_index(b)
    if known is not None:
        return known
    var = as_tensor_variable(b)
    if var.ndim != 0 or var.type.numpy_dtype.kind not in "iu":
        msg = f"indexing: {what} must be an integer scalar, got {b} of type {var.type}. Cast it to int64."
        raise IndexingError(msg)
    inputs.append(var)
    return SYMBOLIC


def _is_array(item: Any) -> bool:
    if isinstance(item, list | tuple | np.ndarray):
        return not (isinstance(item, np.ndarray) and item.ndim == 0 and item.dtype.kind in "iu")
    return isinstance(item, Variable) and getattr(item.type, "ndim", 0) > 0


def _array(item: Any) -> list[Any]:
    """Return an index array as variables: one, or one for each dimension of a boolean mask known by value."""
    if isinstance(item, list | tuple) and not item:
        item = np.zeros(0, "int64")
    var = as_tensor_variable(item)
    kind = var.type.numpy_dtype.kind
    if kind in "iu":
        return [var]
    value = getattr(var, "data", None)
    if kind == "b" and value is not None:
        return [constant(positions) for positions in np.nonzero(value)]
    if kind == "b":
        msg = (
            f"indexing: a boolean mask must be known when the graph is built, got {var} of type {var.type}, because "
            "the number of elements it picks is not known. Use where(mask, x, other), or integer positions."
        )
        raise IndexingError(msg)
    msg = f"indexing: positions must be integers, got {var} of type {var.type}. Cast them to int64."
    raise IndexingError(msg)


def _expanded(items: Sequence[Any], ndim: int) -> list[Any]:
    """Replace the ellipsis by full slices, and fill up to the rank."""
    taken = 0
    for item in items:
        if item is None or item is Ellipsis:
            continue
        is_mask = _is_array(item) and np.asarray(getattr(item, "data", item)).dtype == bool
        taken += np.ndim(getattr(item, "data", item)) if is_mask else 1
    if taken > ndim:
        msg = f"indexing: {taken} indices are too many for a tensor of rank {ndim}. Leave some out."
        raise IndexingError(msg)
    ellipses = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        msg = "indexing: an index can hold one ellipsis (...) only."
        raise IndexingError(msg)
    at = ellipses[0] if ellipses else len(items)
    full = [slice(None)] * (ndim - taken)
    return [*items[:at], *full, *items[at + 1 :]]


def parse(x: Any, args: Any) -> Index:
    """Return the index expression ``x[args]`` parsed.

    Raises
    ------
    IndexingError
        If there are too many indices, a position known to be out of bounds, a mask that is not constant, or
        something that is no index.
    """
    ndim = x.ndim
    items = _expanded(list(args) if isinstance(args, tuple) else [args], ndim)
    entries: list[Entry] = []
    inputs: list[Any] = []
    new_axes: list[int] = []
    result_ndim = 0
    for item in items:
        if item is None:
            new_axes.append(result_ndim)
            result_ndim += 1
        elif isinstance(item, slice):
            entries.append(_span(item, inputs))
            result_ndim += 1
        elif _is_array(item):
            arrays = _array(item)
            inputs += arrays
            entries += [Positions()] * len(arrays)
        elif isinstance(item, bool | np.bool_):
            msg = "indexing: True and False are no indices here. Use x[None] or a mask array."
            raise IndexingError(msg)
        else:
            entries.append(_position(x, item, len(entries), inputs))
    return Index(tuple(entries), tuple(inputs), tuple(new_axes))


def _span(item: slice, inputs: list[Any]) -> Span:
    bounds = [_bound(f"the {n} of a slice", getattr(item, n), inputs) for n in ("start", "stop", "step")]
    if bounds[2] == 0:
        msg = "indexing: the step of a slice cannot be 0."
        raise IndexingError(msg)
    return Span(*bounds)


def _position(x: Any, item: Any, dim: int, inputs: list[Any]) -> At:
    try:
        value = _bound("a position", item, inputs)
    except TypeError as error:
        msg = f"indexing: integers, slices, None, ... and integer arrays are indices, got {item!r}."
        raise IndexingError(msg) from error
    n = x.type.shape[dim]
    if isinstance(value, int) and n is not None and not -n <= value < n:
        msg = f"indexing: position {value} is out of bounds for dimension {dim} of length {n} of {x}."
        raise IndexingError(msg)
    return At(SYMBOLIC if value is None else value)


@dataclass(frozen=True, slots=True)
class Gather:
    """How an index with arrays is carried out, step by step, for backends that lack it.

    First the slices are taken (full ones where arrays stand). Then the dimensions that arrays index are brought to
    the front (`order`), the arrays, broadcast together, pick from them, and the dimensions of the broadcast arrays
    are moved from the front to `place` among the others.

    Attributes
    ----------
    indexed
        Dimensions that arrays index.
    order
        Permutation of the tensor's dimensions: the indexed ones, then the others.
    place
        Where the dimensions of the arrays stand among the others in the result.
    array_ndim
        Rank of the broadcast arrays.
    """

    indexed: tuple[int, ...]
    order: tuple[int, ...]
    place: int
    array_ndim: int


def gather_plan(entries: Sequence[Entry], array_ndims: Sequence[int]) -> Gather:
    """Return how an index of spans and arrays is carried out (NumPy's rules).

    The arrays' dimensions stand where the arrays do if these are next to each other, else in front.
    """
    indexed = tuple(i for i, e in enumerate(entries) if isinstance(e, Positions))
    others = tuple(i for i, e in enumerate(entries) if not isinstance(e, Positions))
    together = indexed == tuple(range(indexed[0], indexed[0] + len(indexed)))
    return Gather(indexed, indexed + others, indexed[0] if together else 0, max(array_ndims))


def index_types(variables: Sequence[Variable]) -> list[TensorType]:
    """Return the types of index inputs, checked to be tensors of integers."""
    kinds = []
    for var in variables:
        if not isinstance(var.type, TensorType) or var.type.numpy_dtype.kind not in "iu":
            msg = f"indexing: an index must be of an integer dtype, got {var} of type {var.type}. Cast it to int64."
            raise IndexingError(msg)
        kinds.append(var.type)
    return kinds
