"""Fourier transforms, by NumPy's compiled loops, for all compiling backends."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Site, external, external_table, kernel
from treadle.kernels.blocks import (
    MOST_DIMENSIONS,
    MOST_OPERANDS,
    TABLE_ROW,
    add_operand,
    begin_batch,
    first_line,
    merged,
    next_line,
    set_length,
)
from treadle.kernels.language import (
    OK,
    Number,
    Pointer,
    address,
    convert,
    int64,
    itemsize,
    local,
    real_of,
)
from treadle.tensor.fft.fourier import FourierTransform
from treadle.tensor.signal.lower.pocketfft import CompiledLoop

if TYPE_CHECKING:
    from treadle.kernels.externals import ExternalFunction, ExternalTable
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)
U = TypeVar("U", bound=Number)

# The types of each loop in double precision, as the ufunc lists them.
_TYPES = {"fft": "Dd->D", "ifft": "Dd->D", "rfft_n_even": "dd->D", "rfft_n_odd": "dd->D", "irfft": "Dd->d"}


def loop_of(name: str, *, single: bool) -> tuple[ExternalFunction, ExternalTable]:
    """Return a loop, and its data.

    It takes the addresses of lines, of a factor and of results; their counts; and strides in bytes.
    """
    types = _TYPES[name].replace("D", "F").replace("d", "f") if single else _TYPES[name]
    stem = f"numpy_{name}_{'f32' if single else 'f64'}"
    loop = external(stem, [Pointer[int64]] * 4, None, CompiledLoop(name, types, is_data=False))
    return loop, external_table(f"{stem}_data", Pointer[int64], CompiledLoop(name, types, is_data=True))


@kernel
def half_length(n: int) -> int:
    """Return how many coefficients n real numbers have."""
    return n // 2 + 1 if n > 0 else 0


@kernel
def longest_last(table: Pointer[int64], rank: int) -> int:
    """Exchange the longest dimension of a batch and its last one: a loop is called for as many lines as there are."""
    longest = rank - 1
    for d in range(rank):
        if table[TABLE_ROW * d] > table[TABLE_ROW * longest]:
            longest = d
    for k in range(TABLE_ROW):
        held = table[TABLE_ROW * longest + k]
        table[TABLE_ROW * longest + k] = table[TABLE_ROW * (rank - 1) + k]
        table[TABLE_ROW * (rank - 1) + k] = held
    return OK


@kernel
def transform_lines(
    x: Pointer[T],
    n: int,
    x_step: int,
    o: Pointer[U],
    m: int,
    o_step: int,
    table: Pointer[int64],
    rank: int,
    *,
    loop: ExternalFunction,
    data: ExternalTable,
    odd_loop: ExternalFunction,
    odd_data: ExternalTable,
) -> int:
    """Transform all lines of n numbers; the table says where lines and results lie."""
    last = merged(table, rank)
    longest_last(table, last)
    row = table + TABLE_ROW * (last - 1)
    lines = 1
    for d in range(last - 1):
        lines = lines * table[TABLE_ROW * d]
    if row[0] == 0:
        return OK
    index = local(int64, MOST_DIMENSIONS)
    places = local(int64, MOST_OPERANDS)
    first_line(index, places, last)
    factor = local(real_of(T), 1)
    factor[0] = convert(real_of(T), 1)
    of = local(int64, 3)
    counts = local(int64, 3)
    strides = local(int64, 5)
    counts[0] = row[0]
    counts[1] = n
    counts[2] = m
    strides[0] = row[1] * itemsize(T)
    strides[1] = 0
    strides[2] = row[2] * itemsize(U)
    strides[3] = x_step * itemsize(T)
    strides[4] = o_step * itemsize(U)
    for _ in range(lines):
        of[0] = address(x + places[0])
        of[1] = address(factor)
        of[2] = address(o + places[1])
        if n % 2 == 0:
            loop(of, counts, strides, data)
        else:
            odd_loop(of, counts, strides, odd_data)
        next_line(table, last, index, places)
    return OK


@TABLE.register(FourierTransform)
def fourier_transform(op: FourierTransform, node: TensorNode, site: Site) -> None:
    """Transform along the axis; NumPy has one loop for an even and one for an odd real length."""
    variable, *wanted = node.inputs
    x, axis = site.array(variable), variable.type.ndim + op.axis
    n = x.shape[axis]
    site.stop_if(n < 1)
    m = n
    if op.kind == "rfft":
        m = site.compute(half_length, n)
    elif wanted:
        m = site.integer(wanted[0])
        site.stop_if(m < 1)
        site.same(n, site.compute(half_length, m))
    out = site.output(node.outputs[0], [*x.shape[:axis], m, *x.shape[axis + 1 :]])
    others = [d for d in range(variable.type.ndim) if d != axis]
    rank = max(len(others), 1)
    table = site.room("int64", TABLE_ROW * rank)
    site.run(begin_batch, table, rank)
    for at, d in enumerate(others):
        site.run(set_length, table, at, x.shape[d])
        for k, operand in enumerate((x, out)):
            site.run(add_operand, table, at, k, operand.shape[d], operand.strides[d], grows=False)
    single = variable.type.dtype in {"float32", "complex64"}
    loop, data = loop_of("rfft_n_even" if op.kind == "rfft" else op.kind, single=single)
    odd_loop, odd_data = loop_of("rfft_n_odd" if op.kind == "rfft" else op.kind, single=single)
    site.run(
        transform_lines, x.pointer, n, x.strides[axis], out.pointer, m, out.strides[axis], table, rank, loop=loop,
        data=data, odd_loop=odd_loop, odd_data=odd_data,
    )  # fmt: skip
