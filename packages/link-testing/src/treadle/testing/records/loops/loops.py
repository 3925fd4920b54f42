"""Records of loops."""

from __future__ import annotations

import numpy as np

from treadle import tensor as tt
from treadle.tensor import TensorVariable
from treadle.testing.domain import Array, Domain
from treadle.testing.operands import number, of_shape
from treadle.testing.sample import DISCRETE, FLOATS, SIGNED, Sample

Carry = tuple[TensorVariable, ...]


F = "loops"
# Small, so that integers do not overflow and products stay in range.
_SMALL = Domain(-1.0, 1.0)
_HERE = ("plain", "empty", "long", "fortran", "strided", "reversed", "readonly")
_ROWS = of_shape((5, 3), empty=(0, 3), long=(41, 7), domain=_SMALL)
_ROW = of_shape((3,), empty=(3,), long=(7,), domain=_SMALL)
_VECTOR = of_shape((6,), empty=(0,), long=(53,), domain=_SMALL)
_SCALAR = of_shape((), domain=_SMALL)
_MATRIX = of_shape((3, 3), domain=_SMALL)
NUMBERS = (*SIGNED, *FLOATS)


def _recurrent(x: TensorVariable, h: TensorVariable, w: TensorVariable) -> object:
    def step(h: TensorVariable, row: TensorVariable) -> tuple[object, object]:
        new = tt.tanh(row + h @ w)
        return new, new * row

    return tt.scan_with_carry(step, h, x)


def _recurrent_oracle(x: Array, h: Array, w: Array) -> tuple[Array, Array]:
    rows = np.zeros_like(x)
    for i, row in enumerate(x):
        h = np.tanh(row + h @ w)
        rows[i] = h * row
    return h, rows


def _last(x: TensorVariable, h: TensorVariable) -> object:
    return tt.scan_with_carry(lambda h, row: (h * row + row, None), h, x)[0]


def _last_oracle(x: Array, h: Array) -> Array:
    for row in x:
        h = np.asarray(h * row + row)
    return h


def _bits(x: TensorVariable, h: TensorVariable) -> object:
    def step(h: TensorVariable, row: TensorVariable) -> tuple[object, object]:
        new = tt.bitwise_xor(h, row)
        return new, (new, tt.bitwise_and(h, row))

    last, (a, b) = tt.scan_with_carry(step, h, x)
    return last, a, b


def _bits_oracle(x: Array, h: Array) -> tuple[Array, Array, Array]:
    xors, ands = np.zeros_like(x), np.zeros_like(x)
    for i, row in enumerate(x):
        ands[i] = h & row
        h = np.asarray(h ^ row)
        xors[i] = h
    return h, xors, ands


def _mixed(x: TensorVariable) -> object:
    """Return a loop with carries of several dtypes: that of the operand, an integer, a boolean."""

    def step(carry: Carry, row: TensorVariable) -> tuple[object, object]:
        total, count, seen = carry
        positive = row > 0
        return (total + tt.switch(seen, row, -row), count + tt.cast(positive, "int64"), seen | positive), count

    start = tt.zeros((), dtype=x.dtype)
    (total, count, seen), counts = tt.scan_with_carry(
        step, (start, tt.constant(0, dtype="int64"), tt.constant(False)), x
    )
    return total, count, seen, counts


def _mixed_oracle(x: Array) -> tuple[Array, Array, Array, Array]:
    total, count, seen = x.dtype.type(0), 0, False
    counts = np.zeros(len(x), "int64")
    for i, row in enumerate(x):
        counts[i] = count
        total = x.dtype.type(total + row if seen else total - row)
        count += int(row > 0)
        seen = seen or bool(row > 0)
    return np.asarray(total), np.asarray(count, "int64"), np.asarray(seen), counts


def _halvings(x: TensorVariable) -> object:
    return tt.while_loop(lambda c: c[1] > 0.1, lambda c: (c[0] * c[1] + 1, c[1] / 2), (x, abs(x) + 1))


def _halvings_oracle(x: Array) -> tuple[Array, Array]:
    a, b, half = x, np.asarray(abs(x) + 1), x.dtype.type(2)
    while b > 0.1:
        a, b = np.asarray(a * b + 1), np.asarray(b / half)
    return a, b


def _no_step(x: TensorVariable) -> object:
    return tt.while_loop(lambda y: y < -10, lambda y: y * 2, x)


def _power(a: TensorVariable, n: TensorVariable) -> object:
    return tt.fori_loop(0, n, lambda i, m: m @ a + tt.cast(i, a.dtype), tt.eye(3, dtype=a.dtype))


def _power_oracle(a: Array, n: Array) -> Array:
    m = np.eye(3, dtype=a.dtype)
    for i in range(int(n)):
        m = m @ a + a.dtype.type(i)
    return m


def _nested(x: TensorVariable, h: TensorVariable) -> object:
    def outer(h: TensorVariable, row: TensorVariable) -> tuple[object, object]:
        last, products = tt.scan_with_carry(lambda c, y: (c * y + y, c * h[0]), h[0] + row[0], row)
        new = h * last
        return new, (products, new)

    last, (products, rows) = tt.scan_with_carry(outer, h, x)
    return last, products, rows


def _nested_oracle(x: Array, h: Array) -> tuple[Array, Array, Array]:
    products, rows = np.zeros_like(x), np.zeros_like(x)
    for i, row in enumerate(x):
        c = h[0] + row[0]
        for k, y in enumerate(row):
            products[i, k] = c * h[0]
            c = c * y + y
        h = h * c
        rows[i] = h
    return h, products, rows


def _backwards(x: TensorVariable) -> object:
    return tt.scan_with_carry(lambda c, row: (c * 0.5 + row, c), tt.zeros((3,), dtype=x.dtype), x[:, :3], reverse=True)


def _backwards_oracle(x: Array) -> tuple[Array, Array]:
    c, rows = np.zeros(3, x.dtype), np.zeros((len(x), 3), x.dtype)
    for i in reversed(range(len(x))):
        rows[i] = c
        c = (c * x.dtype.type(0.5) + x[i, :3]).astype(x.dtype)
    return c, rows


def _of_rows(x: TensorVariable, y: TensorVariable) -> object:
    """Return a loop without carries."""
    return tt.scan_with_carry(lambda _, row: (None, (row * y, row)), None, x)[1]


def _unchanged(x: TensorVariable, h: TensorVariable) -> object:
    """Return a carry as it was, an input as a result, and one variable as two results."""

    def step(carry: Carry, row: TensorVariable) -> tuple[object, object]:
        kept, moved = carry
        return (kept, kept), (row, moved, moved)

    (kept, moved), rows = tt.scan_with_carry(step, (h, h * h), x)
    return kept, moved, *rows


def _unchanged_oracle(x: Array, h: Array) -> tuple[Array, ...]:
    kept, moved = h, np.asarray(h * h)
    rows = np.zeros_like(x)
    for i in range(len(x)):
        rows[i] = moved
        moved = kept
    return kept, moved, x, rows, rows


def _taps(x: TensorVariable, start: TensorVariable) -> object:
    return tt.scan(
        lambda before, after, old, new: 0.5 * old - new * after + before, {"input": x, "taps": [-1, 1]},
        {"initial": start, "taps": [-3, -1]}, return_updates=False,
    )  # fmt: skip


def _taps_oracle(x: Array, start: Array) -> Array:
    half = x.dtype.type(0.5)
    states = list(start)
    for i in range(1, len(x) - 1):
        states.append(half * states[-3] - states[-1] * x[i + 1] + x[i - 1])
    return np.array(states[3:], x.dtype)


def _far_taps(x: TensorVariable, start: TensorVariable) -> object:
    return tt.scan(lambda row, old: row * old, x, {"initial": start, "taps": [-20]}, return_updates=False)


def _far_taps_oracle(x: Array, start: Array) -> Array:
    states = list(start)
    for row in x:
        states.append(row * states[-20])
    return np.array(states[20:], x.dtype)


def _ended(x: TensorVariable) -> object:
    return tt.scan(lambda row, s: (s + row, tt.until(row > 0.5)), x, x[:2].sum(), return_updates=False)


def _ended_oracle(x: Array) -> Array:
    s, rows = x[:2].sum(), []
    for row in x:
        rows.append(s := s + row)
        if row > 0.5:
            break
    return np.array(rows, x.dtype)


SAMPLES: tuple[Sample, ...] = (
    Sample("recurrent", F, _recurrent, _recurrent_oracle, (_ROWS, _ROW, _MATRIX), dtypes=FLOATS,
           wrt=(0, 1, 2), variants=("plain", "empty", "fortran", "strided", "reversed", "readonly"),
           computed_shape=True, fixed_shapes=True),
    Sample("last", F, _last, _last_oracle, (_ROWS, _ROW), dtypes=NUMBERS, wrt=(0, 1), variants=_HERE,
           computed_shape=True, fixed_shapes=True),
    Sample("of_scalars", F, _last, _last_oracle, (_VECTOR, _SCALAR), dtypes=NUMBERS, wrt=(0, 1), variants=_HERE),
    Sample("bits", F, _bits, _bits_oracle, (_ROWS, _ROW), dtypes=DISCRETE, variants=_HERE,
           computed_shape=True, fixed_shapes=True),
    Sample("mixed", F, _mixed, _mixed_oracle, (_VECTOR,), dtypes=NUMBERS, wrt=(0,), variants=_HERE),
    Sample("while", F, _halvings, _halvings_oracle, (_SCALAR,), dtypes=FLOATS, wrt=(0,), variants=("plain",)),
    Sample("no_step", F, _no_step, lambda x: x, (_SCALAR,), dtypes=FLOATS, wrt=(0,), variants=("plain",)),
    Sample("power", F, _power, _power_oracle, (_MATRIX, number(3)), dtypes=FLOATS, wrt=(0,),
           variants=("plain", "fortran", "strided", "reversed", "readonly"), computed_shape=True),
    Sample("nested", F, _nested, _nested_oracle, (_ROWS, _ROW), dtypes=FLOATS, wrt=(0, 1), variants=("plain", "empty"),
           fixed_shapes=True),
    Sample("backwards", F, _backwards, _backwards_oracle, (_ROWS,), dtypes=FLOATS, wrt=(0,), variants=_HERE,
           fixed_shapes=True),
    Sample("of_rows", F, _of_rows, lambda x, y: (np.asarray(x * y), x), (_ROWS, _ROW), wrt=(0, 1), variants=_HERE,
           fixed_shapes=True),
    Sample("unchanged", F, _unchanged, _unchanged_oracle, (_ROWS, _ROW), dtypes=NUMBERS, wrt=(0, 1),
           variants=_HERE, computed_shape=True, fixed_shapes=True),
    Sample("taps", F, _taps, _taps_oracle, (_VECTOR, of_shape((3,), domain=_SMALL)), dtypes=FLOATS, wrt=(0, 1),
           variants=_HERE),
    Sample("far_taps", F, _far_taps, _far_taps_oracle, (_VECTOR, of_shape((20,), domain=_SMALL)), dtypes=NUMBERS,
           wrt=(0, 1), variants=_HERE),
    # Results whose length a condition decides are refused where lengths are known before the program runs.
    Sample("ended", F, _ended, _ended_oracle, (_VECTOR,), dtypes=FLOATS, wrt=(0,), variants=_HERE, optional=True,
           ragged=(0,), computed_shape=True),
)  # fmt: skip
