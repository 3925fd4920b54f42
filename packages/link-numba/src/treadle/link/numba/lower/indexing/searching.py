"""Searches: positions of true elements, binary search, and counts of integers."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.link.numba.dtypes import Storage
from treadle.link.numba.lower.indexing.indexing import index_array
from treadle.link.numba.status import INDEX, SHAPE, VALUE
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.loops import Array, lengths, nest, offset
from treadle.link.numba.text.unit import Unit, make_kernel
from treadle.link.numba.text.values import ArrayValue, ScalarValue, product
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import BinCount, CheckMask, Nonzero, RowOrder, SearchSorted, TensorNode


@TABLE.register(CheckMask)
def lower_check_mask(op: CheckMask, node: TensorNode, writer: GraphWriter) -> None:
    """Check the lengths; the result is the mask itself."""
    mask, *expected = node.inputs
    value = writer.array(mask)
    for n, length in zip(value.dims[len(value.dims) - len(expected) :], expected, strict=True):
        other = writer.let(writer.scalar(length, "int64"), "n")
        if n != other:
            writer.stop_if(f"{n} != {other}", INDEX)
    writer.bind(node.outputs[0], value)


def _call(writer: GraphWriter, unit: Unit, arguments: Sequence[str]) -> str:
    """Write the call of a kernel, and return the variable that holds its result."""
    writer.units[unit.name] = unit
    return writer.let(f"{unit.name}({', '.join(arguments)})", "n")


def _kernel(stem: str, params: Sequence[tuple[str, str]], lines: Sequence[str]) -> Unit:
    return make_kernel(stem, params, lines, LIBRARY.used_by("\n".join(lines)))


@TABLE.register(Nonzero)
def lower_nonzero(op: Nonzero, node: TensorNode, writer: GraphWriter) -> None:
    """Count the true elements, then write their positions."""
    (mask,) = node.inputs
    value = writer.array(mask)
    ndim = value.ndim
    x = Array("x", value.storage, (False,) * ndim)
    place = f"x[x_q + d{ndim - 1} * x_s{ndim - 1}]"
    row = [f"x_q = {offset(x, range(ndim - 1))}"]
    params = [*lengths(ndim), *x.params()]
    arguments = [*value.dims, *x.arguments(value.address, value.strides)]
    counting = ["count = 0", *nest(ndim, row, [f"count = count + i8({place})"]), "return count"]
    count = _call(writer, _kernel("count_true", params, counting), arguments)
    outs = [writer.new_output(out, [count]) for out in node.outputs]
    # Each position is written to the next free place, and the place advances only if its element is true.
    step = ["if found == count:", "    return 0", *(f"o{d}[found] = d{d}" for d in range(ndim))]
    filling = ["found = 0", *nest(ndim, row, [*step, f"found = found + i8({place})"]), "return 0"]
    params += [("count", "i8"), *((f"o{d}", "*i8") for d in range(ndim))]
    unit = _kernel("find_true", params, filling)
    writer.call(unit, [*arguments, count, *(f"as_i8({out.address})" for out in outs)])


@TABLE.register(SearchSorted)
def lower_search_sorted(op: SearchSorted, node: TensorNode, writer: GraphWriter) -> None:
    """Write a binary search for each value."""
    x, v = node.inputs
    (out,) = node.outputs
    among = writer.array(x)
    searched = writer.value(v)
    single = isinstance(searched, ScalarValue)
    values = index_array(writer, v) if isinstance(searched, ScalarValue) else writer.packed(searched)
    batch = among.ndim - 1
    for n, m in zip(among.dims[:batch], values.dims[:batch], strict=True):
        if n != m:
            writer.stop_if(f"{n} != {m}", SHAPE)
    positions = writer.allocate(["1"], writer.storage(out)) if single else writer.new_output(out, values.dims)
    each = writer.let(product([*values.dims[batch:], "1"]), "n")
    unit = _binary_search(op.side, batch, among.storage)
    source = Array("x", among.storage, (False,) * (batch + 1))
    writer.call(
        unit,
        [
            *among.dims,
            *source.arguments(among.address, among.strides),
            each,
            f"as_{values.storage.memory}({values.address})",
            f"as_i8({positions.address})",
        ],
    )
    if single:
        writer.bind_scalar(out, f"as_i8({positions.address})[0]")


def _binary_search(side: str, batch: int, storage: Storage) -> Unit:
    """Return the kernel that finds the place of each value in its batch element's sorted row."""
    x = Array("x", storage, (False,) * (batch + 1))

    def load(text: str) -> str:
        return text if storage.kind == "b" else storage.loaded(text)

    # NaN counts as larger than every number.
    floating = storage.kind == "f"
    if side == "left":
        goes_on = "(a < key) or (key != key and a == a)" if floating else "a < key"
    else:
        goes_on = "not ((key < a) or (a != a and key == key))" if floating else "a <= key"
    body = [
        f"x_q = {offset(x, range(batch))}",
        "for j in range(each):",
        f"    key = {load('v[place]')}",
        "    at = 0",
        f"    left = n{batch}",
        "    while left > 0:",
        "        half = max(left // 2, 1)",
        f"        a = {load(f'x[x_q + (at + half - 1) * x_s{batch}]')}",
        f"        at = at + pick({goes_on}, half, 0)",
        "        left = left - half",
        "    o[place] = at",
        "    place = place + 1",
    ]
    lines = ["place = 0", *nest(batch, [], body), "return 0"]
    params = [*lengths(batch + 1), *x.params(), ("each", "i8"), ("v", f"*{storage.memory}"), ("o", "*i8")]
    return _kernel("search", params, lines)


@TABLE.register(BinCount)
def lower_bin_count(op: BinCount, node: TensorNode, writer: GraphWriter) -> None:
    """Find the number of bins, then count."""
    x, least, *weights = node.inputs
    value = writer.array(x)
    bins = writer.let(writer.scalar(least, "int64"), "n")
    writer.stop_if(f"{bins} < 0", VALUE)
    arguments = [*value.dims, f"as_i8({value.address})", *value.strides]
    params = [("n", "i8"), ("x", "*i8"), ("s", "i8")]
    if not op.bounded:
        lines = [
            "low = 0",
            "high = bins - 1",
            "for i in range(n):",
            "    low = min(low, x[i * s])",
            "    high = max(high, x[i * s])",
            "if low < 0:",
            "    return -1",
            # More bins could not be addressed, and one more than the largest integer would overflow.
            f"if high > {2**60}:",
            "    return -1",
            "return high + 1",
        ]
        bins = _call(writer, _kernel("bins", [*params, ("bins", "i8")], lines), [*arguments, bins])
        writer.stop_if(f"{bins} < 0", VALUE)
    counts = writer.new_output(node.outputs[0], [bins])
    code = counts.storage.code
    arguments += [bins, f"as_{code}({counts.address})"]
    params += [("bins", "i8"), ("o", f"*{code}")]
    added = f"{code}(1)"
    if weights:
        weight: ArrayValue = writer.array(weights[0])
        writer.same(value.dims[0], weight.dims[0])
        arguments += [f"as_f8({weight.address})", *weight.strides]
        params += [("w", "*f8"), ("w_s", "i8")]
        added = "w[i * w_s]"
    lines = [
        "for k in range(bins):",
        f"    o[k] = {code}(0)",
        "for i in range(n):",
        "    k = x[i * s]",
        "    if k >= 0 and k < bins:",
        f"        o[k] = o[k] + {added}",
        "return 0",
    ]
    writer.call(_kernel("bin_count", params, lines), arguments)


@TABLE.register(RowOrder)
def lower_row_order(op: RowOrder, node: TensorNode, writer: GraphWriter) -> None:
    """Order the rows by merge sort."""
    value = writer.array(node.inputs[0])
    order = writer.new_output(node.outputs[0], value.dims[:1])
    spare = writer.allocate(value.dims[:1], order.storage)
    source = Array("x", value.storage, (False, False))
    unit = _merge_sort(value.storage)
    arguments = source.arguments(value.address, value.strides)
    writer.call(unit, [*value.dims, *arguments, f"as_i8({order.address})", f"as_i8({spare.address})"])


def _merge_sort(storage: Storage) -> Unit:
    """Return the kernel that finds the sorted order of the rows of a matrix; the sort is stable."""

    def load(row: str) -> str:
        text = f"x[{row} * x_s0 + c * x_s1]"
        return text if storage.kind == "b" else storage.loaded(text)

    floating = storage.kind == "f"
    less = "(b < a) or (a != a and b == b)" if floating else "b < a"
    more = "(a < b) or (b != b and a == a)" if floating else "a < b"
    lines = [
        "for i in range(n0):",
        "    o[i] = i",
        "width = 1",
        "while width < n0:",
        "    low = 0",
        "    while low < n0:",
        "        middle = min(low + width, n0)",
        "        high = min(low + 2 * width, n0)",
        "        i = low",
        "        j = middle",
        "        for k in range(low, high):",
        "            later = 0",
        "            if i >= middle:",
        "                later = 1",
        "            if i < middle and j < high:",
        "                settled = 0",
        "                c = 0",
        "                while c < n1 and settled == 0:",
        f"                    a = {load('o[i]')}",
        f"                    b = {load('o[j]')}",
        f"                    if {less}:",
        "                        settled = 1",
        "                        later = 1",
        f"                    if {more}:",
        "                        settled = 1",
        "                    c = c + 1",
        "            if later == 1:",
        "                w[k] = o[j]",
        "                j = j + 1",
        "            else:",
        "                w[k] = o[i]",
        "                i = i + 1",
        "        low = low + 2 * width",
        "    for i in range(n0):",
        "        o[i] = w[i]",
        "    width = width * 2",
        "return 0",
    ]
    x = Array("x", storage, (False, False))
    return _kernel("row_order", [*lengths(2), *x.params(), ("o", "*i8"), ("w", "*i8")], lines)
