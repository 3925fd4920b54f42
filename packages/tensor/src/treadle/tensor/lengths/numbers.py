"""Arithmetic on lengths and bounds: Python integers are computed at once, int64 scalars become expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from treadle.graph import Constant, Variable
from treadle.tensor.elementwise.arithmetic import abs_, add, floor_div, maximum, minimum, mul, neg, sub, true_div
from treadle.tensor.elementwise.cast import CASTS, switch
from treadle.tensor.elementwise.comparison import eq, gt, lt
from treadle.tensor.elementwise.rounding import ceil
from treadle.tensor.shapes.shape import LENGTH, ShapeI
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.tensor.variables.variable import TensorVariable

# An integer that is known, or an int64 scalar.
Number: TypeAlias = "int | TensorVariable"
# Longer than any array, so that larger bounds mean the same as this one; arithmetic with it stays within int64.
LARGEST = 2**62


def number(value: int | TensorVariable) -> Number:
    """Return a scalar as a number: the integer of a constant, any other scalar as int64."""
    if isinstance(value, int):
        return value
    if isinstance(value, Constant):
        return int(value.data.item())
    if value.dtype == LENGTH:
        return value
    return CASTS[LENGTH](value)


def as_scalar(n: Number) -> TensorVariable:
    """Return a number as an int64 scalar."""
    return constant(n, dtype=LENGTH) if isinstance(n, int) else n


def plus(a: Number, b: Number) -> Number:
    """Return a + b."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if b == 0:
        return a
    return b if a == 0 else add(a, b)


def minus(a: Number, b: Number) -> Number:
    """Return a - b."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    if a is b:
        return 0
    return plus(a, -b) if isinstance(b, int) else sub(a, b)


def times(a: Number, b: Number) -> Number:
    """Return a * b."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if b == 1:
        return a
    return b if a == 1 else mul(a, b)


def product(lengths: Iterable[int | TensorVariable]) -> Number:
    """Return the product of lengths."""
    result: Number = 1
    for n in lengths:
        result = times(result, number(n))
    return result


def whole_quotient(a: Number, b: Number) -> Number:
    """Return the quotient rounded down; 0 for a length over zero, which must be 0 itself."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b else 0
    if b == 1:
        return a
    return floor_div(a, b)


def least(a: Number, b: Number) -> Number:
    """Return the smaller number."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return a if a is b else minimum(a, b)


def greatest(a: Number, b: Number) -> Number:
    """Return the larger number."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return a if a is b else maximum(a, b)


def is_natural(a: Number) -> bool:
    """Whether a number is certain not to be negative."""
    if isinstance(a, int):
        return a >= 0
    return a.owner is not None and isinstance(a.owner.op, ShapeI)


def broadcast_number(numbers: Sequence[Number]) -> Number:
    """Return the length that lengths broadcast to: each of them is the result, or 1."""
    result = numbers[0]
    for n in numbers[1:]:
        result = switch(eq(result, 1), n, result)
    return result


def clamped(bound: Number, n: Number, forward: bool) -> Number:
    """Return where a bound of a slice falls: between 0 and n going forward, between -1 and n - 1 going back."""
    low, high = (0, n) if forward else (-1, minus(n, 1))
    if isinstance(bound, int) and bound < 0:
        return greatest(plus(n, bound), low)
    if is_natural(bound):
        return least(bound, high)
    return switch(lt(bound, 0), greatest(plus(bound, n), low), least(bound, high))


def slice_start(n: Number, start: Number | None, step: int) -> Number:
    """Return the position where a slice of n elements begins (NumPy's rules; n or -1 where nothing is left)."""
    if start is None:
        return 0 if step > 0 else minus(n, 1)
    return clamped(start, n, step > 0)


def slice_length(n: Number, start: Number | None, stop: Number | None, step: Number | None) -> Number:
    """Return how many of n elements a slice takes (NumPy's rules)."""
    stride: Number = 1 if step is None else step
    if not isinstance(stride, int):
        # A step beyond any length, whose size or sum with a length int64 may not hold, counts as the longest.
        size = least(abs_(greatest(stride, -LARGEST)), LARGEST)
        ahead, back = (_taken(n, start, stop, size, forward) for forward in (True, False))
        chosen: Number = switch(gt(stride, 0), ahead, back)
        return chosen
    if isinstance(n, int) and not any(isinstance(b, Variable) for b in (start, stop)):
        bounds: Any = (start, stop, stride)
        return len(range(*slice(*bounds).indices(n)))
    if start in {None, 0} and stop is None and stride == 1:
        return n
    if start is None and stop is None and stride == -1:
        return n
    return _taken(n, start, stop, abs(stride), stride > 0)


def _taken(n: Number, start: Number | None, stop: Number | None, stride: Number, forward: bool) -> Number:
    """Return the length of a slice whose direction is known; `stride` is the step's size."""
    first = slice_start(n, start, 1 if forward else -1)
    last: Number = (n if forward else -1) if stop is None else clamped(stop, n, forward)
    span = minus(last, first) if forward else minus(first, last)
    if forward and is_natural(n) and _never_before(start, stop):
        return _steps(span, stride)
    return greatest(_steps(span, stride), 0)


def _never_before(start: Number | None, stop: Number | None) -> bool:
    """Whether the end of a slice is certain not to lie before its beginning."""
    if stop is None:
        return start is None or is_natural(start)
    return start in {None, 0} and is_natural(stop)


def _steps(span: Number, stride: Number) -> Number:
    """Return how many steps it takes to cross a span, rounded up."""
    return span if stride == 1 else whole_quotient(plus(span, minus(stride, 1)), stride)


def diagonal_length(n: Number, m: Number, offset: int) -> Number:
    """Return how many elements a diagonal of an n x m matrix has."""
    if offset > 0:
        m = minus(m, offset)
    elif offset < 0:
        n = plus(n, offset)
    length = least(n, m)
    return greatest(length, 0) if offset else length


def range_length(start: TensorVariable, stop: TensorVariable, step: TensorVariable) -> Number:
    """Return how many numbers a range has: of integer scalars, or of floats as NumPy counts them."""
    if all(getattr(x.type, "numpy_dtype", np.dtype(LENGTH)).kind in "iub" for x in (start, stop, step)):
        first, last, stride = number(start), number(stop), number(step)
        if isinstance(stride, int):
            span = minus(last, first) if stride > 0 else minus(first, last)
            if first == 0 and stride == 1 and is_natural(last):
                return last
            return greatest(_steps(span, abs(stride)), 0)
        counted: Number = neg(floor_div(minus(first, last), stride))
        return greatest(counted, 0)
    # NumPy computes in the dtype of the floats among them: Python integers follow.
    floats = [x.type.numpy_dtype for x in (start, stop, step) if x.type.numpy_dtype.kind == "f"]
    to = CASTS[np.result_type(*floats).name]
    rounded = ceil(CASTS["float64"](true_div(sub(to(stop), to(start)), to(step))))
    return CASTS[LENGTH](maximum(rounded, 0.0))
