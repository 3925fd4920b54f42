"""pad: more elements around a tensor, in all of NumPy's modes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from treadle.config import text_of
from treadle.graph import Constant, Variable, composed
from treadle.tensor.arguments.axes import at_axis, normalize_axis
from treadle.tensor.arguments.values import as_choice
from treadle.tensor.arrangement.spaced_numbers import linspace
from treadle.tensor.control.assertion import checked_length
from treadle.tensor.elementwise.arithmetic import add, floor_div, mod, mul, sub
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import lt
from treadle.tensor.elementwise.rounding import round_half_to_even
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.indexing.gathering import take
from treadle.tensor.indexing.indexing import set_subtensor
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.lengths.numbers import as_scalar, greatest, least, minus, number, plus, times
from treadle.tensor.ops.known_values import known_value
from treadle.tensor.shapes.broadcasting import alloc
from treadle.tensor.shapes.shape import LENGTH, lengths, shape_i
from treadle.tensor.sorting.quantiles import median
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.tensor.lengths.numbers import Number
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    Pair = tuple[TensorLike | None, TensorLike | None]
    Width = tuple[Number, Number]
    Extension = Callable[[TensorVariable, int, Width], TensorVariable]

__all__ = ["pad"]

# For each mode the argument that it takes besides the widths.
_ARGUMENT_OF = {
    "constant": "constant_values",
    "edge": "",
    "linear_ramp": "end_values",
    "maximum": "stat_length",
    "mean": "stat_length",
    "median": "stat_length",
    "minimum": "stat_length",
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
    "wrap": "",
    "empty": "",
}


@composed
def pad(
    x: TensorLike,
    pad_width: TensorLike | Mapping[int, TensorLike],
    mode: str = "constant",
    *,
    constant_values: TensorLike | None = None,
    end_values: TensorLike | None = None,
    stat_length: TensorLike | None = None,
    reflect_type: str | None = None,
) -> TensorVariable:
    """Put more elements around a tensor (as numpy.pad).

    Parameters
    ----------
    x
        A tensor.
    pad_width
        How many elements before and after, integers or integer scalars: one number for all, a pair for all dimensions,
        a pair for each, or a mapping from axes to numbers or pairs.
    mode
        What they are. ``constant``: `constant_values`. ``edge``: the outermost element. ``linear_ramp``: numbers at
        even distances between that and `end_values`. ``maximum``, ``mean``, ``median``, ``minimum``: that of the
        outermost `stat_length` elements. ``reflect``, ``symmetric``: the tensor reflected, without and with its edge.
        ``wrap``: the tensor again. ``empty``: anything.
    constant_values, end_values, stat_length
        Given as `pad_width` is; by default 0, 0 and all elements.
    reflect_type
        ``even``: as it is. ``odd``: taken from twice the edge, so that slopes go on.

    Raises
    ------
    TensorTypeError
        If the mode is a function, or not one of these; or the widths are not integers.
    ShapeError
        If an argument is not of the mode, does not fit the rank, is known to be negative, or nothing is to be extended.

    Examples
    --------
    >>> tt.pad([1, 2], 1).eval()
    array([0, 1, 2, 0])
    """
    var = as_tensor_variable(x)
    if callable(mode):
        msg = "pad: the mode must be one of NumPy's, got a function. Put the parts together by concatenate."
        raise TensorTypeError(msg)
    chosen = as_choice("pad: mode", mode, tuple(_ARGUMENT_OF))
    unsupported = {
        name: value
        for name, value in (
            ("constant_values", constant_values),
            ("end_values", end_values),
            ("stat_length", stat_length),
            ("reflect_type", reflect_type),
        )
        if value is not None and name != _ARGUMENT_OF[chosen]
    }
    if unsupported:
        msg = f"pad: unsupported keyword arguments for mode {chosen!r}, got {', '.join(unsupported)}. Leave them out."
        raise ShapeError(msg)
    widths = _widths(var, pad_width)
    if all(n == 0 for pair in widths for n in pair):
        return var
    if chosen in {"constant", "empty"}:
        return _with_constants(var, widths, _pairs("pad: constant_values", constant_values, var.ndim, 0))
    for axis, width in enumerate(widths):
        if width != (0, 0) and var.type.shape[axis] == 0:
            msg = f"pad: can't extend empty axis {axis} using modes other than 'constant' or 'empty', got {chosen!r}."
            raise ShapeError(msg)
    extend: Sequence[Extension]
    if chosen == "linear_ramp":
        ends = _pairs("pad: end_values", end_values, var.ndim, 0)
        extend = [lambda y, d, width, end=end: _ramp(y, d, width, end) for end in ends]  # type: ignore[misc]  # mypy: lambda
    elif _ARGUMENT_OF[chosen] == "stat_length":
        spans = _pairs("pad: stat_length", stat_length, var.ndim, None)
        extend = [lambda y, d, width, span=span: _statistics(chosen, y, d, width, span) for span in spans]  # type: ignore[misc]
    else:
        odd = as_choice("pad: reflect_type", "even" if reflect_type is None else reflect_type, ("even", "odd")) == "odd"
        axes = [(axis, width) for axis, width in enumerate(widths) if width != (0, 0)]
        # Two axes at once, where their order does not matter: so the tensor is copied once.
        at_once = 1 if odd else 2
        for group in (*((a,) for a in axes[:-at_once]), axes[-at_once:]):
            var = _extended(chosen, odd, var, group)
        return var
    for axis, width in enumerate(widths):
        if width != (0, 0):
            var = extend[axis](var, axis, width)
    return var


def _items(what: str, value: TensorLike, ndim: int) -> list[list[TensorLike]]:
    """Return an argument as one list of one or two items for each dimension."""
    rows: list[TensorLike]
    if isinstance(value, Variable) and not isinstance(value, Constant):
        var = as_tensor_variable(value)
        if var.ndim > 2 or None in var.type.shape:
            msg = f"{what}: the shape must be known, got {var} of type {var.type}. List the numbers."
            raise TensorTypeError(msg)
        rows = [var] if var.ndim == 0 else [list(row) if row.ndim else row for row in var]
    elif isinstance(value, list | tuple):
        rows = list(value)
    else:
        data = as_tensor_variable(value)
        rows = data.data.tolist() if data.ndim else [data.data.item()]  # type: ignore[attr-defined]  # of a plain value
    nested = [list(r) if isinstance(r, list | tuple) or getattr(r, "ndim", 0) else None for r in rows]  # type: ignore[arg-type]
    pairs: list[list[TensorLike]]
    if all(r is None for r in nested):
        if len(rows) in {1, 2}:
            return [list(rows)] * ndim
    elif all(r is not None and len(r) in {1, 2} for r in nested) and len(nested) in {1, ndim}:
        pairs = [r for r in nested if r is not None]
        return pairs * ndim if len(pairs) == 1 else pairs
    msg = f"{what}: one number, a pair, or a pair for each of {ndim} dimensions is needed, got {text_of(value)}."
    raise ShapeError(msg)


def _pairs(what: str, value: TensorLike | None, ndim: int, default: TensorLike | None) -> list[Pair]:
    """Return an argument as a pair for each dimension, for what stands before and after."""
    if value is None:
        return [(default, default)] * ndim
    return [(items[0], items[-1]) for items in _items(what, value, ndim)]


def _widths(x: TensorVariable, pad_width: TensorLike | Mapping[int, TensorLike]) -> list[Width]:
    """Return how many elements come before and after in each dimension."""
    if isinstance(pad_width, Mapping):
        widths: list[Width] = [(0, 0)] * x.ndim
        for axis, value in pad_width.items():
            (items,) = _items("pad: pad_width", value, 1)
            widths[normalize_axis("pad", axis, x.ndim)] = (_width(items[0]), _width(items[-1]))
        return widths
    return [(_width(a), _width(b)) for a, b in _pairs("pad: pad_width", pad_width, x.ndim, 0)]


def _width(value: TensorLike | None) -> Number:
    """Return a number of elements: an integer, or an int64 scalar."""
    var = as_tensor_variable(0 if value is None else value)
    if var.ndim or var.type.numpy_dtype.kind not in "iu":
        msg = f"pad: pad_width must be of integers, got {text_of(value)} of type {var.type}. Cast it."
        raise TensorTypeError(msg)
    known = known_value(var)
    if known is not None and known < 0:
        msg = f"pad: pad_width can't contain negative values, got {known}. Take a part of the tensor instead."
        raise ShapeError(msg)
    return number(var if isinstance(var, Constant) else checked_length(cast(var, LENGTH)))


def _with_constants(x: TensorVariable, widths: Sequence[Width], values: Sequence[Pair]) -> TensorVariable:
    """Return a tensor with constants around it."""
    filled = [[cast(as_tensor_variable(0 if v is None else v), x.dtype) for v in pair] for pair in values]
    own = lengths(x)
    first = filled[0][0]
    if all(v is first or (isinstance(v, Constant) and v.equals(first)) for pair in filled for v in pair):
        shape = [plus(plus(number(n), a), b) for n, (a, b) in zip(own, widths, strict=True)]
        inner = tuple(slice(a, plus(number(n), a)) for n, (a, _) in zip(own, widths, strict=True))
        return set_subtensor(alloc(first, *shape)[inner], x)
    for axis, (width, pair) in enumerate(zip(widths, filled, strict=True)):
        if width != (0, 0):
            x = _around(x, axis, width, pair[0], pair[1])
    return x


def _around(
    x: TensorVariable, axis: int, width: Width, before: TensorVariable, after: TensorVariable
) -> TensorVariable:
    """Return a tensor with values, broadcast, before and after it along an axis."""
    own = lengths(x)
    parts = [alloc(v, *own[:axis], n, *own[axis + 1 :]) for v, n in zip((before, after), width, strict=True)]
    kept = [part for part, n in zip(parts, width, strict=True) if n != 0]
    return concatenate([*kept[: width[0] != 0], x, *kept[width[0] != 0 :]], axis)


def _ramp(x: TensorVariable, axis: int, width: Width, ends: Pair) -> TensorVariable:
    """Return a tensor with numbers at even distances between end values and its edges around it."""
    parts = []
    for edge, end, n in zip((0, -1), ends, width, strict=True):
        ramp = linspace(0 if end is None else end, x[at_axis(axis, edge)], n, endpoint=False, dtype=x.dtype, axis=axis)
        parts.append(ramp if isinstance(ramp, Variable) else ramp[0])
    return concatenate([parts[0], x, parts[1][at_axis(axis, slice(None, None, -1))]], axis)


def _statistics(name: str, x: TensorVariable, axis: int, width: Width, spans: Pair) -> TensorVariable:
    """Return a tensor with statistics of its outermost elements around it."""
    n = number(shape_i(x, axis))
    values: list[TensorVariable] = []
    for is_after, span in enumerate(spans):
        span_length = n if span is None else _width(span)
        count = n if span is None else 0 if span_length == 0 else least(span_length, n)
        if count == 0 and name in {"maximum", "minimum"}:
            msg = "pad: stat_length of 0 yields no value for padding. Give a longer one."
            raise ShapeError(msg)
        part = x if span is None else x[at_axis(axis, slice(minus(n, count), None) if is_after else slice(count))]
        if is_after and spans == (None, None):
            values *= 2
            break
        if name in {"maximum", "minimum"}:
            value = part.max(axis, keepdims=True) if name == "maximum" else part.min(axis, keepdims=True)
        else:
            value = (
                part.mean(axis, keepdims=True) if name == "mean" or count == 0 else median(part, axis, keepdims=True)
            )
            value = round_half_to_even(value) if x.type.numpy_dtype.kind in "iu" else value
        values.append(cast(value, x.dtype))
    return _around(x, axis, width, values[0], values[1])


def _extended(mode: str, odd: bool, x: TensorVariable, widths: Sequence[tuple[int, Width]]) -> TensorVariable:
    """Return a tensor continued beyond its edges along axes: each new element copies one inside."""
    if not widths:
        return x
    (axis, width), *others = widths
    n = number(shape_i(x, axis))
    if mode == "edge":
        edges = (x[at_axis(axis, slice(1))], x[at_axis(axis, slice(-1, None))])
        first, last = (_extended(mode, odd, edge, others) for edge in edges)
        return _around(_extended(mode, odd, x, others), axis, width, first, last)
    before, after = width
    # Only what is added is picked element by element; the tensor itself is copied as a whole.
    beyond = [arange(as_scalar(minus(0, before)), 0), arange(as_scalar(n), as_scalar(plus(n, after)))]
    sides = [_reflected(mode, odd, x, axis, at, n) for at in beyond]
    return concatenate([_extended(mode, odd, part, others) for part in (sides[0], x, sides[1])], axis)


def _reflected(mode: str, odd: bool, x: TensorVariable, axis: int, at: TensorVariable, n: Number) -> TensorVariable:
    """Return the elements at positions before or behind a tensor of length n that is continued."""
    if mode == "wrap":
        return take(x, mod(at, n), axis)
    # There and back, with each edge once or twice; one element alone is its own reflection.
    period = times(2, n) if mode == "symmetric" else greatest(times(2, minus(n, 1)), 1)
    place = mod(at, period)
    back = minus(period, 1) if mode == "symmetric" else period
    inside = lt(place, n)
    reflected = take(x, switch(inside, place, sub(back, place)), axis)
    if not odd:
        return reflected
    first, last = x[at_axis(axis, slice(1))], x[at_axis(axis, slice(-1, None))]
    shape_ = [-1 if d == axis else 1 for d in range(x.ndim)]
    inside, turns = inside.reshape(shape_), cast(floor_div(at, period).reshape(shape_), x.dtype)
    reflected = switch(inside, reflected, sub(mul(2, last), reflected))
    return cast(add(reflected, mul(turns, mul(2, sub(last, first)))), x.dtype)
