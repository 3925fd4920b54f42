"""Kernels of accumulations and linear recurrences along an axis: element by element, or row by row across the last."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, kernel
from treadle.kernels.language import (
    OK,
    SHAPE,
    Array4,
    Number,
    Pointer,
    element,
    exp,
    independent,
    is_complex,
    is_floating,
    log1p,
    select,
)
from treadle.tensor.lower_kernels.lines import lines_of, with_lines
from treadle.tensor.reductions.accumulation import Accumulation, LinearRecurrence

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorNode

T = TypeVar("T", bound=Number)
S = TypeVar("S", bound=Number)
_LOG_2 = math.log(2)
# From so many integers on, sums of four at a time pay.
_MANY = 16
# What an accumulation of truth values is.
_OF_TRUTH = {"sum": "any", "max": "any", "prod": "all", "min": "all"}


@kernel(inline=True)
def joined(a: T, y: T, *, kind: str) -> T:
    """Combine what all elements before have given with the next one; a NaN stays."""
    if kind == "sum":
        return a + y
    if kind == "prod":
        return a * y
    if kind == "any":
        return a | y
    if kind == "all":
        return a & y
    if kind == "max":
        return select((y > a) | (y != y), y, a)
    if kind == "min":
        return select((y < a) | (y != y), y, a)
    if a == y:
        return a + _LOG_2
    if a > y:
        return a + log1p(exp(y - a))
    return y + log1p(exp(a - y)) if y > a else a + y


@kernel(inline=True)
def add_up(x: Pointer[T], o: Pointer[S], n: int) -> int:
    """Write the sums of the first of n integers: in any order, so that each waits for that of four before."""
    a = element(S, x[0])
    o[0] = a
    at = 1
    while at + 4 <= n:
        y = element(S, x[at])
        z = element(S, x[at + 2])
        two = y + element(S, x[at + 1])
        o[at] = a + y
        o[at + 1] = a + two
        o[at + 2] = a + (two + z)
        a = a + (two + (z + element(S, x[at + 3])))
        o[at + 3] = a
        at += 4
    for t in range(at, n):
        a = a + element(S, x[t])
        o[t] = a
    return OK


@kernel
def add_up_lines(x: Array4[T], o: Array4[S]) -> int:
    """Add up integers along the last axis, on which they and the sums lie one behind the other."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                source = x.pointer + (i * x.strides[0] + j * x.strides[1] + k * x.strides[2])
                target = o.pointer + (i * o.strides[0] + j * o.strides[1] + k * o.strides[2])
                add_up(source, target, x.shape[3])
    return OK


@kernel
def accumulate_lines(x: Array4[T], o: Array4[S], *, kind: str) -> int:
    """Walk along the last axis, on which the elements of results lie one behind the other."""
    n = x.shape[3]
    if n == 0:
        return OK
    if kind == "sum" and not is_floating(S) and not is_complex(S) and x.strides[3] == 1 and n >= _MANY:
        return add_up_lines(x, o)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                source = x.pointer + (i * x.strides[0] + j * x.strides[1] + k * x.strides[2])
                target = o.pointer + (i * o.strides[0] + j * o.strides[1] + k * o.strides[2])
                a = element(S, source[0])
                target[0] = a
                for t in range(1, n):
                    source = source + x.strides[3]
                    a = element(S, joined(a, element(S, source[0]), kind=kind))
                    target[t] = a
    return OK


@kernel
def accumulate_rows(x: Array4[T], o: Array4[S], *, kind: str) -> int:
    """Combine whole rows of the last axis but one, on which the elements of results lie one behind the other."""
    n = x.shape[3]
    m = x.shape[2]
    s = x.strides[2]
    if n == 0:
        return OK
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            source = x.pointer + (i * x.strides[0] + j * x.strides[1])
            before = o.pointer + (i * o.strides[0] + j * o.strides[1])
            for k in independent(range(m)):
                before[k] = element(S, source[k * s])
            for _t in range(1, n):
                source = source + x.strides[3]
                target = before + o.strides[3]
                if s == 1:
                    for p in independent(range(m)):
                        target[p] = joined(before[p], element(S, source[p]), kind=kind)
                else:
                    for q in independent(range(m)):
                        target[q] = joined(before[q], element(S, source[q * s]), kind=kind)
                before = target
    return OK


@kernel
def recur_lines(x: Array4[T], decay: Array4[T], o: Array4[T]) -> int:
    """Run the recurrence along the last axis."""
    n = x.shape[3]
    if decay.shape[3] != max(n - 1, 0):
        return SHAPE
    if n == 0:
        return OK
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                source = x.pointer + (i * x.strides[0] + j * x.strides[1] + k * x.strides[2])
                factors = decay.pointer + (i * decay.strides[0] + j * decay.strides[1] + k * decay.strides[2])
                target = o.pointer + (i * o.strides[0] + j * o.strides[1] + k * o.strides[2])
                a = source[0]
                target[0] = a
                for t in range(1, n):
                    faded = element(T, factors[(t - 1) * decay.strides[3]] * a)
                    a = element(T, faded + source[t * x.strides[3]])
                    target[t] = a
    return OK


@kernel
def recur_rows(x: Array4[T], decay: Array4[T], o: Array4[T]) -> int:
    """Run the recurrence on whole rows of the last axis but one."""
    n = x.shape[3]
    if decay.shape[3] != max(n - 1, 0):
        return SHAPE
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            target = o.pointer + (i * o.strides[0] + j * o.strides[1])
            before = target
            for t in range(n):
                row = x.pointer + (i * x.strides[0] + j * x.strides[1] + t * x.strides[3])
                if t == 0:
                    for k in range(x.shape[2]):
                        target[k] = row[k * x.strides[2]]
                else:
                    factors = decay.pointer + (i * decay.strides[0] + j * decay.strides[1] + (t - 1) * decay.strides[3])
                    for p in range(x.shape[2]):
                        faded = element(T, factors[p * decay.strides[2]] * before[p])
                        target[p] = element(T, faded + row[p * x.strides[2]])
                before = target
                target = target + o.strides[3]
    return OK


@TABLE.register(Accumulation)
def lower_accumulation(op: Accumulation, node: TensorNode, site: Site) -> None:
    """Walk along the axis, in the dtype of the result."""
    x, lengths = lines_of(site, node.inputs[0], op.axis)
    out = with_lines(site.output(node.outputs[0], lengths), op.axis)
    kind = _OF_TRUTH[op.kind] if op.dtype == "bool" else op.kind
    site.run(accumulate_lines if op.axis == len(lengths) - 1 else accumulate_rows, x, out, kind=kind)


@TABLE.register(LinearRecurrence)
def lower_linear_recurrence(op: LinearRecurrence, node: TensorNode, site: Site) -> None:
    """Walk along the axis."""
    (decay, decays), (x, lengths) = (lines_of(site, v, op.axis) for v in node.inputs)
    for d, (m, n) in enumerate(zip(decays, lengths, strict=True)):
        if d != op.axis:
            site.same(m, n)
    out = with_lines(site.output(node.outputs[0], lengths), op.axis)
    site.run(recur_lines if op.axis == len(lengths) - 1 else recur_rows, x, decay, out)
