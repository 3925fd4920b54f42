"""What slices and positions pick of an array, in code that compiling backends generate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.kernels import Comparison, Length
from treadle.kernels.language import INDEX, VALUE
from treadle.tensor.indexing.expressions import At, Positions, Span, Symbolic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from treadle.kernels import Axis, Site
    from treadle.tensor.indexing.expressions import Entry
    from treadle.tensor.variables.variable import TensorVariable

__all__ = ["basic_part"]

_ZERO, _ONE = Length("0"), Length("1")


def basic_part(
    site: Site,
    layout: tuple[Sequence[Length], Sequence[Length]],
    entries: Sequence[Entry],
    symbolic: Iterator[TensorVariable],
) -> tuple[list[tuple[Entry, Axis]], Length | None]:
    """Write the arithmetic of slices and positions, and the checks of lengths that masks must have.

    Parameters
    ----------
    site
        Where it is written.
    layout
        The lengths and steps of the array, as `Site.layout` returns them.
    entries
        One for each dimension of the array.
    symbolic
        The inputs of the node that are bounds and single positions, in order.

    Returns
    -------
    The dimensions that are left, as `Site.view` takes them, each with its entry, and how far the first element picked
    lies behind the array's. Dimensions that arrays of positions pick from are left as they are.
    """
    axes: list[tuple[Entry, Axis]] = []
    shift: Length | None = None
    for d, (entry, n, step) in enumerate(zip(entries, *layout, strict=True)):
        first = _ZERO
        if isinstance(entry, Positions):
            axes.append((entry, d))
            if entry.length is not None:
                site.same(n, Length(str(entry.length)), INDEX)
        elif isinstance(entry, At):
            first = _position(site, _bound(site, entry.value, symbolic), n)
        elif entry.is_full:
            axes.append((entry, d))
        else:
            first, count, every = _span(site, entry, n, symbolic)
            axes.append((entry, (count, step if every == _ONE else step * every)))
        if first != _ZERO:
            shift = first * step if shift is None else shift + first * step
    return axes, shift


def _bound(site: Site, bound: int | Symbolic, symbolic: Iterator[TensorVariable]) -> Length:
    return site.integer(next(symbolic)) if isinstance(bound, Symbolic) else Length(str(bound))


def _position(site: Site, at: Length, n: Length) -> Length:
    """Return a position counted from the start; the node fails if it is out of bounds."""
    if at.value is None or n.value is None:
        position = site.position(at, n)
        site.stop_if(position < 0, INDEX)
        return position
    if not -n.value <= at.value < n.value:
        site.stop_if(Comparison("0 == 0"), INDEX)
        return _ZERO
    return Length(str(at.value % n.value))


def _span(site: Site, entry: Span, n: Length, symbolic: Iterator[TensorVariable]) -> tuple[Length, Length, Length]:
    """Return the first position, the length and the step of a slice."""
    bounds = [None if b is None else _bound(site, b, symbolic) for b in (entry.start, entry.stop, entry.step)]
    start, stop, step = bounds
    if n.value is not None and all(b is None or b.value is not None for b in bounds):
        positions = range(n.value)[slice(*(None if b is None else b.value for b in bounds))]
        first = positions.start if len(positions) else 0
        # The step of one element may exceed memory.
        every = positions.step if len(positions) > 1 else 1
        return Length(str(first)), Length(str(len(positions))), Length(str(every))
    present = (start is not None) + 2 * (stop is not None)
    first_position, count = site.span(n, start or _ZERO, stop or _ZERO, step or _ONE, present)
    if step is not None and step.value is None:
        site.stop_if(count < 0, VALUE)
    return first_position, count, step or _ONE
