"""Index expressions: what stands between the brackets, split into static structure and symbolic parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, TypeAlias

import numpy as np

from treadle.config import dataclass, text_of
from treadle.graph import Operand, Variable, as_index
from treadle.tensor.errors import IndexingError, TensorTypeError
from treadle.tensor.indexing.nonzero import CheckMask, Nonzero
from treadle.tensor.indexing.slice_values import opened
from treadle.tensor.lengths.numbers import LARGEST
from treadle.tensor.ops.known_values import known_value
from treadle.tensor.shapes.dimshuffle import NEW
from treadle.tensor.shapes.shape import lengths
from treadle.tensor.types.conversion import as_tensor_variable, constant, tensors
from treadle.tensor.types.none_and_slices import NoneTypeT, SliceType
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from treadle.tensor.variables.variable import Index as Given
    from treadle.tensor.variables.variable import TensorVariable

    _Item: TypeAlias = "Given | _Arrays | _Mask"


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
        parts = ["" if b is None else str(b) for b in (self.start, self.stop)]
        return ":".join(parts) if self.step is None else ":".join([*parts, str(self.step)])


@dataclass(frozen=True, slots=True)
class Positions:
    """An integer array of positions, an input of the node.

    Attributes
    ----------
    length
        The length that the dimension must have, where the positions are those of a mask; None otherwise.
    """

    length: int | None = None

    def __str__(self) -> str:
        """Show as ``array``, or with the length of a mask."""
        return "array" if self.length is None else f"mask({self.length})"


Entry = At | Span | Positions
# An index as NumPy takes it.
Filled = tuple[int | slice | np.ndarray | None, ...]


def symbolic_count(entries: Sequence[Entry]) -> int:
    """Return how many inputs the entries take."""
    return sum(1 for _ in _symbolic_places(entries))


def bound_inputs(entries: Sequence[Entry], first: int) -> tuple[int, ...]:
    """Return the positions of the inputs that are bounds of slices, which decide the result's shape.

    `first` is the position of the first index input.
    """
    positions: list[int] = []
    at = first
    for entry in entries:
        count = symbolic_count([entry])
        if isinstance(entry, Span):
            positions += range(at, at + count)
        at += count
    return tuple(positions)


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


def filled_index(
    entries: Sequence[Entry], values: Sequence[np.ndarray | int], shape: Sequence[int] | None = None
) -> Filled:
    """Return the index for NumPy: entries with the symbolic parts taken from values, in order.

    Parameters
    ----------
    entries
        The entries.
    values
        Values of the symbolic parts and arrays.
    shape
        Shape of the array that is indexed, against which the lengths of masks are checked; needed where there are
        arrays.

    Raises
    ------
    IndexError
        If a mask is not as long as its dimension.
    """
    remaining = iter(values)

    def take(bound: Bound) -> int | None:
        return int(next(remaining)) if isinstance(bound, Symbolic) else bound

    index: list[int | slice | np.ndarray | None] = []
    for entry in entries:
        if isinstance(entry, At):
            index.append(take(entry.value))
        elif isinstance(entry, Span):
            index.append(slice(take(entry.start), take(entry.stop), take(entry.step)))
        else:
            if shape is not None and entry.length not in {None, shape[len(index)]}:
                msg = (
                    f"a mask of length {entry.length} is given for dimension {len(index)} of length {shape[len(index)]}"
                )
                raise IndexError(msg)
            index.append(next(remaining))
    return tuple(index)


def index_pieces(entries: Sequence[Entry], inputs: Sequence[Variable]) -> list[list[str | Operand]]:
    """Return what stands between the brackets of a formula: text and index inputs for each dimension.

    Full slices at the end are left out.
    """
    remaining = iter(inputs)

    def pieces(bound: Bound) -> list[str | Operand]:
        if bound is None:
            return []
        return [Operand(next(remaining)) if isinstance(bound, Symbolic) else str(bound)]

    items: list[list[str | Operand]] = []
    for entry in entries:
        if isinstance(entry, At):
            items.append(pieces(entry.value))
        elif isinstance(entry, Span):
            item = [*pieces(entry.start), ":", *pieces(entry.stop)]
            items.append(item if entry.step is None else [*item, ":", *pieces(entry.step)])
        else:
            items.append([Operand(next(remaining))])
    while len(items) > 1 and items[-1] == [":"]:
        items.pop()
    return items


def known_entries(entries: Sequence[Entry], parts: Sequence[Variable]) -> Sequence[Entry]:
    """Return entries with the bounds of slices that are known for now: they decide the static shape."""
    result = list(entries)
    at = 0
    for d, entry in enumerate(entries):
        if isinstance(entry, Span) and (count := symbolic_count([entry])):
            remaining = iter(parts[at : at + count])
            bounds = [next(remaining) if isinstance(b, Symbolic) else b for b in (entry.start, entry.stop, entry.step)]
            known = [known_value(b) if isinstance(b, Variable) else b for b in bounds]
            if all(n is not None or b is None for n, b in zip(known, bounds, strict=True)) and known[2] != 0:
                result[d] = Span(*known)
            at += count
        else:
            at += symbolic_count([entry])
    return result


def span_length(entry: Span, n: int | None) -> int | None:
    """Return the static length of a slice of a dimension, None where it is unknown."""
    if entry.is_full:
        return n
    start, stop, step = entry.start, entry.stop, entry.step
    if n is None or isinstance(start, Symbolic) or isinstance(stop, Symbolic) or isinstance(step, Symbolic):
        return None
    return len(range(n)[start:stop:step])


@dataclass(frozen=True, slots=True)
class Index:
    """A parsed index expression: an entry for each dimension of the tensor, and their variables (`inputs`) in order.

    `order` has, for each dimension of the result, the dimension of what the entries pick that it is, or "x" for a new
    axis: new axes, and an ellipsis even where it stands for no dimension, decide where NumPy puts the dimensions of
    arrays.
    """

    entries: tuple[Entry, ...]
    inputs: tuple[TensorVariable, ...]
    order: tuple[int | str, ...]

    @property
    def is_basic(self) -> bool:
        """Whether there are no index arrays."""
        return not any(isinstance(e, Positions) for e in self.entries)

    @property
    def keeps_order(self) -> bool:
        """Whether the result is what the entries pick."""
        return self.order == tuple(range(len(self.order)))

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return all(isinstance(e, Span) and e.is_full for e in self.entries)


# What an item contributes to the result.
_NEW_AXIS, _SLICE, _ARRAY, _NOTHING = "new axis", "slice", "array", "nothing"


class _Parser:
    """Takes the items of an index one by one.

    `kinds` has what each item contributes to the result, `array_ndim` is the rank of the arrays broadcast together.
    """

    def __init__(self, x: TensorVariable) -> None:
        self.x = x
        self.entries: list[Entry] = []
        self.inputs: list[TensorVariable] = []
        self.kinds: list[str] = []
        self.array_ndim = 0

    def take(self, item: _Item) -> None:
        """Take one item: None, a slice, an integer, or an array or mask as `_array` returns it."""
        if item is None:
            self.kinds.append(_NEW_AXIS)
        elif isinstance(item, slice):
            self.entries.append(_span(item, self.inputs))
            self.kinds.append(_SLICE)
        elif isinstance(item, _Arrays):
            for var, n in zip(item.positions, item.lengths, strict=True):
                self.entries.append(Positions(self._checked_length(n, len(self.entries))))
                self.inputs.append(var)
                self.array_ndim = max(self.array_ndim, var.ndim)
            self.kinds.append(_ARRAY)
        elif isinstance(item, Variable) and isinstance(item.type, SliceType):
            self.take(opened(item, lengths(self.x)[len(self.entries)]))
        elif isinstance(item, _Mask):
            positions = self._picked_by(item.mask)
            self.entries += [Positions()] * len(positions)
            self.inputs += positions
            self.array_ndim = max(self.array_ndim, 1)
            self.kinds.append(_ARRAY)
        else:
            self.entries.append(_position(self.x, item, len(self.entries), self.inputs))
            self.kinds.append(_ARRAY)

    def _picked_by(self, mask: TensorVariable) -> list[TensorVariable]:
        """Return the positions that a mask picks; it is checked against the next dimensions at run time if need be."""
        first = len(self.entries)
        for d, n in enumerate(mask.type.shape):
            self._checked_length(n, first + d)
        mask = CheckMask()(mask, *lengths(self.x)[first : first + mask.ndim])
        return tensors(Nonzero().make_node(mask).outputs)

    def _checked_length(self, length: int | None, dim: int) -> int | None:
        """Return the length of a mask, which is checked at run time."""
        own = self.x.type.shape[dim]
        if length is None or own is None or own == length:
            return length
        msg = (
            f"indexing: a mask of length {length} is given for dimension {dim} of length {own} of {self.x}. Make them "
            "equal."
        )
        raise IndexingError(msg)

    def order(self) -> tuple[int | str, ...]:
        """Return the order of `Index`."""
        if not self.array_ndim and Positions not in map(type, self.entries):
            picked = iter(range(len(self.entries)))
            return tuple(NEW if k is _NEW_AXIS else next(picked) for k in self.kinds if k in {_NEW_AXIS, _SLICE})
        arrays = [("array", d) for d in range(self.array_ndim)]
        own = [("slice", d) for d in range(self.kinds.count(_SLICE))]
        spans = iter(own)
        others = [None if k is _NEW_AXIS else next(spans) for k in self.kinds if k in {_NEW_AXIS, _SLICE}]
        # How many new axes and slices come before the dimensions of the arrays in the result.
        first = _first_of_row([i for i, kind in enumerate(self.kinds) if kind is _ARRAY])
        place = sum(kind in {_NEW_AXIS, _SLICE} for kind in self.kinds[:first])
        result = [*others[:place], *arrays, *others[place:]]
        # The op places the arrays by its entries alone, which include single positions next to arrays.
        indexed = [i for i, e in enumerate(self.entries) if not isinstance(e, Span)]
        place = _first_of_row(indexed)
        current = [*own[:place], *arrays, *own[place:]]
        return tuple(NEW if label is None else current.index(label) for label in result)


def _first_of_row(places: Sequence[int]) -> int:
    """Return the first of places that are next to each other; 0 if they are not."""
    return places[0] if places[-1] - places[0] == len(places) - 1 else 0


def _bound(what: str, b: Given, inputs: list[TensorVariable], error: type[Exception]) -> int | Symbolic:
    """Return an integer, or the mark of one that becomes an input."""
    known = as_index(b)
    if known is not None:
        return known
    var = None if isinstance(b, str | bytes) else as_tensor_variable(b)  # type: ignore[arg-type]  # refuses anything else
    if var is None or var.ndim != 0 or var.type.numpy_dtype.kind not in "iu":
        of = "" if var is None else f" of type {var.type}"
        msg = f"indexing: {what} must be an integer scalar, got {text_of(b)}{of}. Cast it to int64."
        raise error(msg)
    inputs.append(var)
    return SYMBOLIC


@dataclass(frozen=True, slots=True)
class _Arrays:
    """An item that holds an array: its positions, one array for each dimension; and how long a mask is in each."""

    positions: Sequence[TensorVariable]
    lengths: Sequence[int | None]


@dataclass(frozen=True, slots=True)
class _Mask:
    """An item that holds a boolean mask whose value is known only when the program runs."""

    mask: TensorVariable


def _resolved(item: Given) -> _Item:
    """Return an item as an `_Arrays` if it is an array or a sequence; unchanged if it is anything else."""
    if item is None or item is Ellipsis or isinstance(item, slice | str | bytes):
        return item
    if isinstance(item, bool):
        _refuse_truth(item)
    if not isinstance(item, Variable):
        return item if as_index(item) is not None else _converted(item)
    kind = item.type
    if isinstance(kind, NoneTypeT):
        return None
    if not isinstance(kind, TensorType):
        return item
    if kind.ndim == 0 and kind.dtype == "bool":
        _refuse_truth(item)
    return _array(as_tensor_variable(item)) if kind.ndim else item


def _converted(item: Given) -> _Item:
    """Return an array, a sequence, or something that is neither."""
    try:
        var = as_tensor_variable(item)  # type: ignore[arg-type]  # refuses anything else
    except TensorTypeError as error:
        msg = f"indexing: integers, slices, None, ... and integer arrays are indices, got {text_of(item)} ({error})"
        raise IndexingError(msg) from error
    if getattr(item, "dtype", None) is None and 0 in var.type.shape:
        # An empty list has no dtype of its own.
        var = constant(np.zeros([n or 0 for n in var.type.shape], "int64"))
    if var.ndim:
        return _array(var)
    if var.dtype == "bool":
        _refuse_truth(item)
    return item


def _refuse_truth(item: object) -> NoReturn:
    msg = f"indexing: True and False are no indices here, got {text_of(item)}. Use x[None] or a mask array."
    raise IndexingError(msg)


def _array(var: TensorVariable) -> _Arrays | _Mask:
    """Return an index array: itself, or the positions that a boolean mask known by value picks; or another mask."""
    kind = var.type.numpy_dtype.kind
    if kind in "iu":
        return _Arrays([var], [None])
    value = getattr(var, "data", None)
    if kind == "b" and value is not None:
        # NumPy takes a mask of length 0 for any dimension.
        return _Arrays([constant(positions) for positions in np.nonzero(value)], [n or None for n in value.shape])
    if kind == "b":
        return _Mask(var)
    msg = f"indexing: positions must be integers, got {var} of type {var.type}. Cast them to int64."
    raise IndexingError(msg)


def parse(x: TensorVariable, args: Given) -> Index:
    """Return the index expression ``x[args]`` parsed; refuse one that is known not to fit, or is not an index."""
    pieces: tuple[Given, ...] = args if isinstance(args, tuple) else (args,)
    items = [_resolved(item) for item in pieces]
    count = sum(map(_dimensions_of, items))
    if count > x.ndim:
        msg = f"indexing: {count} indices are too many for a tensor of rank {x.ndim}. Leave some out."
        raise IndexingError(msg)
    ellipses = [at for at, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        msg = "indexing: an index can hold one ellipsis (...) only."
        raise IndexingError(msg)
    full = [slice(None)] * (x.ndim - count)
    parser = _Parser(x)
    for item in items:
        if item is not Ellipsis:
            parser.take(item)
            continue
        for everything in full:
            parser.take(everything)
        if not full:
            parser.kinds.append(_NOTHING)
    for everything in full if not ellipses else ():
        parser.take(everything)
    return Index(tuple(parser.entries), tuple(parser.inputs), parser.order())


def _dimensions_of(item: _Item) -> int:
    """Return how many dimensions an item of an index takes."""
    if isinstance(item, _Arrays):
        return len(item.positions)
    return item.mask.ndim if isinstance(item, _Mask) else item is not None and item is not Ellipsis


def _span(item: slice, inputs: list[TensorVariable]) -> Span:
    start, stop, step = (
        None if b is None else _limited(_bound(f"the {name} of a slice", b, inputs, TensorTypeError))
        for name, b in (("start", item.start), ("stop", item.stop), ("step", item.step))
    )
    if step == 0:
        msg = "indexing: the step of a slice cannot be 0."
        raise IndexingError(msg)
    return Span(start, stop, step)


def _limited(bound: int | Symbolic) -> int | Symbolic:
    """Return a bound, or a smaller one that means the same for every array there can be."""
    return max(-LARGEST, min(bound, LARGEST)) if isinstance(bound, int) else bound


def _position(x: TensorVariable, item: Given, dim: int, inputs: list[TensorVariable]) -> At:
    value = _bound("a position", item, inputs, IndexingError)
    n = x.type.shape[dim]
    if isinstance(value, int) and not (-LARGEST if n is None else -n) <= value < (LARGEST if n is None else n):
        length = "" if n is None else f" of length {n}"
        msg = f"indexing: position {value} is out of bounds for dimension {dim}{length} of {x}."
        raise IndexingError(msg)
    return At(value)


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
    return Gather(indexed, indexed + others, _first_of_row(indexed), max(array_ndims))


def index_types(variables: Sequence[Variable]) -> list[TensorType]:
    """Return the types of index inputs, checked to be tensors of integers."""
    kinds = []
    for var in variables:
        if not isinstance(var.type, TensorType) or var.type.numpy_dtype.kind not in "iu":
            msg = f"indexing: an index must be of an integer dtype, got {var} of type {var.type}. Cast it to int64."
            raise IndexingError(msg)
        kinds.append(var.type)
    return kinds


def add_at(x: np.ndarray, index: Filled, y: np.ndarray, ndim: int) -> None:
    """Add to picked elements, a part of some rank, again for each repeated position."""
    if y.ndim:
        # ufunc.at reads past the end of a vector that is to be broadcast to a matrix of positions (NumPy 2.4).
        y = y.reshape((1,) * (ndim - y.ndim) + y.shape)
    (np.logical_or if x.dtype == bool else np.add).at(x, index, y)  # type: ignore[arg-type]  # an index of several parts too


def picks_once(index: Filled, shape: tuple[int, ...]) -> bool:
    """Whether an index surely picks no element twice: there, gathering and adding is faster than adding one by one."""
    arrays = [(i, n) for i, n in zip(index, shape, strict=True) if isinstance(i, np.ndarray)]
    if not arrays:
        return True
    if len(arrays) > 1:
        return False
    positions, length = arrays[0]
    sorted_ = np.sort(positions % max(length, 1), axis=None)
    return bool((sorted_[1:] != sorted_[:-1]).all())
