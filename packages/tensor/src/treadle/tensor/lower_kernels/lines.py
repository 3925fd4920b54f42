"""Lines of tensors along an axis, as kernels take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from treadle.kernels import Given, Length, Site

if TYPE_CHECKING:
    from treadle.graph import Variable


def product(lengths: Sequence[Length]) -> Length:
    """Return the product of lengths."""
    total = Length("1")
    for n in lengths:
        total = n if total.text == "1" else total * n
    return total


def with_lines(given: Given, axis: int) -> Given:
    """Return an array with an axis as the last of four; one of more axes has to be in C order."""
    rank = len(given.shape)
    shape, strides = list(given.shape), list(given.strides)
    if rank > 4:
        after = product(given.shape[axis + 1 :])
        n = given.shape[axis]
        shape, strides = [product(given.shape[:axis]), after, n], [n * after, Length("1"), after]
    else:
        shape.append(shape.pop(axis))
        strides.append(strides.pop(axis))
    ones = [Length("1")] * (4 - len(shape))
    return replace(given, rank=4, shape=(*ones, *shape), strides=(*ones, *strides))


def lines_of(site: Site, x: Variable, axis: int) -> tuple[Given, tuple[Length, ...]]:
    """Return the lines of a tensor along an axis, copied if it has more than four axes, and its lengths."""
    given = site.array(x)
    lengths = given.shape
    return with_lines(site.packed(x) if len(lengths) > 4 else given, axis), lengths
