"""Kernels of ranges: their length, and the first number plus multiples of the difference of the first two, as NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Given, Length, Site, Status, kernel
from treadle.kernels.language import (
    OK,
    Number,
    Pointer,
    ceil,
    convert,
    element,
    float64,
    independent,
    is_complex,
    is_floating,
    uint64,
)
from treadle.tensor.indexing.ranges import ARange

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorNode

# The rules take no complex numbers.
REAL_ONLY = True
A = TypeVar("A", bound=Number)
B = TypeVar("B", bound=Number)
C = TypeVar("C", bound=Number)
T = TypeVar("T", bound=Number)


@kernel
def count_whole(start: int, stop: int, step: int) -> int:
    """Count whole numbers, whose difference may be of 64 bits; -1 if the step is 0."""
    if step == 0:
        return -1
    if step > 0:
        return int((uint64(stop) - uint64(start) - 1) // uint64(step)) + 1 if stop > start else 0
    return int((uint64(start) - uint64(stop) - 1) // (0 - uint64(step))) + 1 if start > stop else 0


@kernel
def count_measured(start: A, stop: B, step: C) -> int:
    """Count numbers; -1 if the step is 0, or they are too many."""
    first = convert(float64, start)
    apart = convert(float64, step)
    n = ceil((convert(float64, stop) - first) / apart)
    if apart == 0 or not n < 9.2e18:
        return -1
    return int(n) if n > 0 else 0


@kernel
def fill_whole(start: int, step: int, o: Pointer[T], count: int, *, truth: bool) -> int:
    """Write a range of whole numbers."""
    fill_range(element(T, start), element(T, start + step), o, count, truth=truth)
    return OK


@kernel
def fill_measured(start: A, step: C, o: Pointer[T], count: int, *, truth: bool) -> int:
    """Write a range of numbers of double precision."""
    first = convert(float64, start)
    fill_range(element(T, first), element(T, first + convert(float64, step)), o, count, truth=truth)
    return OK


@kernel(inline=True)
def fill_range(first: A, second: A, o: Pointer[T], count: int, *, truth: bool) -> int:
    """Write a range, given its first two numbers; of truth values there are no more."""
    if truth:
        for k in range(count):
            o[k] = first if k == 0 else second
    else:
        delta = second - first
        if is_floating(T) or is_complex(T):
            for j in independent(range(count)):
                o[j] = first + convert(T, j) * delta
        else:
            value = first
            for i in range(count):
                o[i] = value
                value = value + delta
    return OK


@TABLE.register(ARange)
def lower_arange(op: ARange, node: TensorNode, site: Site) -> None:
    """Count the numbers, then write them."""
    if any(x.type.numpy_dtype.kind == "f" for x in node.inputs):
        bounds: Sequence[Given | Length] = [site.number(x) for x in node.inputs]
        count, fill = site.compute(count_measured, *bounds), fill_measured
    else:
        bounds = [site.integer(x) for x in node.inputs]
        count, fill = site.compute(count_whole, *bounds), fill_whole
    site.stop_if(count < 0, Status.VALUE)
    out = site.output(node.outputs[0], [count])
    site.run(fill, bounds[0], bounds[2], out.pointer, count, truth=op.dtype == "bool")
