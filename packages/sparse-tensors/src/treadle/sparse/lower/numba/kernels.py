"""Kernels of sparse matrices for Numba: loops over lines and their entries.

Each kernel first checks positions and pointers, so that no wrong ones lead out of an array.
"""

from __future__ import annotations

from collections.abc import Sequence

from treadle.link.numba import (
    LIBRARY,
    SHAPE,
    TABLE,
    ArrayValue,
    GraphWriter,
    Storage,
    Unit,
    indented,
    make_kernel,
)
from treadle.sparse.kernels.lines import Densified, LineOfEntry
from treadle.sparse.kernels.patterns import (
    CombinedPattern,
    ProductPattern,
    Sampled,
    SampledSparseProduct,
    TransposedPattern,
)
from treadle.sparse.kernels.products import LinesProduct, SampledProduct, TransposedLinesProduct
from treadle.tensor import TensorNode, TensorVariable

# The kernels work on complex numbers as well.
TAKES_COMPLEX = True


def _check(stem: str, across: str | None) -> list[str]:
    """Return the check of positions and pointers, ``<stem>_i`` and ``<stem>_p``."""
    lines = [
        f"if {stem}_m < 1:",
        f"    return {SHAPE}",
        f"if {stem}_p[0] != 0 or {stem}_p[({stem}_m - 1) * {stem}_t] != {stem}_n:",
        f"    return {SHAPE}",
        f"for i in range({stem}_m - 1):",
        f"    if {stem}_p[i * {stem}_t] > {stem}_p[(i + 1) * {stem}_t]:",
        f"        return {SHAPE}",
    ]
    if across is not None:
        lines += [
            f"for e in range({stem}_n):",
            f"    if {stem}_i[e * {stem}_s] < 0 or {stem}_i[e * {stem}_s] >= {across}:",
            f"        return {SHAPE}",
        ]
    return lines


def _pattern_params(stem: str) -> list[tuple[str, str]]:
    """Return positions and pointers, each with its length and stride."""
    return [
        (f"{stem}_i", "*i4"), (f"{stem}_n", "i8"), (f"{stem}_s", "i8"),
        (f"{stem}_p", "*i4"), (f"{stem}_m", "i8"), (f"{stem}_t", "i8"),
    ]  # fmt: skip


def _vector(value: ArrayValue) -> list[str]:
    return [f"as_{value.storage.memory}({value.address})", value.dims[0], value.strides[0]]


def _pattern(writer: GraphWriter, indices: TensorVariable, indptr: TensorVariable) -> list[str]:
    return [*_vector(writer.array(indices)), *_vector(writer.array(indptr))]


def _matrix_params(name: str, code: str) -> list[tuple[str, str]]:
    return [(name, f"*{code}"), *((f"{name}_{part}", "i8") for part in ("n0", "n1", "s0", "s1"))]


def _matrix(value: ArrayValue) -> list[str]:
    return [f"as_{value.storage.memory}({value.address})", *value.dims, *value.strides]


def _data_params(code: str) -> list[tuple[str, str]]:
    return [("data", f"*{code}"), ("data_n", "i8"), ("data_s", "i8")]


def _entries(stem: str, body: Sequence[str], column: str = "j") -> list[str]:
    """Return a loop over lines (i) and their entries (e), with the position of each."""
    return [
        f"for i in range({stem}_m - 1):",
        f"    for e in range(i8({stem}_p[i * {stem}_t]), i8({stem}_p[(i + 1) * {stem}_t])):",
        f"        {column} = i8({stem}_i[e * {stem}_s])",
        *indented(body, 2),
    ]


def _kernel(stem: str, params: Sequence[tuple[str, str]], lines: Sequence[str]) -> Unit:
    body = [*lines, "return 0"]
    return make_kernel(stem, params, body, LIBRARY.used_by("\n".join(body)))


def _sum(storage: Storage, target: str, term: str) -> str:
    return f"{target} = {storage.code}({target} + {term})"


def _zeros(storage: Storage, count: str) -> list[str]:
    return [f"for q in range({count}):", f"    o[q] = {storage.code}(0)"]


def _out(value: ArrayValue) -> str:
    return f"as_{value.storage.memory}({value.address})"


def _stop_unless(writer: GraphWriter, first: str, second: str) -> None:
    if first != second:
        writer.stop_if(f"{first} != {second}", SHAPE)


@TABLE.register(LineOfEntry)
def lower_line_of_entry(op: LineOfEntry, node: TensorNode, writer: GraphWriter) -> None:
    """Write the number of each line to its entries."""
    arguments = _pattern(writer, *node.inputs)
    result = writer.new_output(node.outputs[0], [arguments[1]])
    fill = [
        "for i in range(a_m - 1):",
        "    for e in range(i8(a_p[i * a_t]), i8(a_p[(i + 1) * a_t])):",
        "        o[e] = i4(i)",
    ]
    unit = _kernel("sparse_lines", [*_pattern_params("a"), ("o", "*i4")], [*_check("a", None), *fill])
    writer.call(unit, [*arguments, _out(result)], checked=True)


def _length(writer: GraphWriter, var: TensorVariable) -> str:
    """Return a length that must not be negative."""
    name = writer.let(writer.scalar(var, "int64"), "n")
    writer.stop_if(f"{name} < 0", SHAPE)
    return name


def _with_data(writer: GraphWriter, data: TensorVariable, pattern: list[str]) -> list[str]:
    """Return the arguments for elements, of which there must be as many as positions."""
    value = writer.array(data)
    _stop_unless(writer, value.dims[0], pattern[1])
    return _vector(value)


def _line_count(writer: GraphWriter, pattern: list[str]) -> str:
    writer.stop_if(f"{pattern[4]} < 1", SHAPE)
    return writer.let(f"{pattern[4]} - 1", "n")


@TABLE.register(Densified)
def lower_densified(op: Densified, node: TensorNode, writer: GraphWriter) -> None:
    """Add the entries to zeros."""
    data, indices, indptr, across = node.inputs
    pattern = _pattern(writer, indices, indptr)
    values, length = _with_data(writer, data, pattern), _length(writer, across)
    result = writer.new_output(node.outputs[0], [_line_count(writer, pattern), length])
    storage = result.storage
    body = _entries("a", [_sum(storage, "o[i * across + j]", "data[e * data_s]")])
    params = [*_data_params(storage.code), *_pattern_params("a"), ("across", "i8"), ("o", f"*{storage.code}")]
    lines = [*_check("a", "across"), *_zeros(storage, "(a_m - 1) * across"), *body]
    writer.call(_kernel("sparse_dense", params, lines), [*values, *pattern, length, _out(result)], checked=True)


def _product(node: TensorNode, writer: GraphWriter, transposed: bool) -> None:
    """Write the product with a matrix, of the lines or of their transpose."""
    data, indices, indptr, dense, *rest = node.inputs
    pattern = _pattern(writer, indices, indptr)
    values, y = _with_data(writer, data, pattern), writer.array(dense)
    lines = _line_count(writer, pattern)
    if transposed:
        across = _length(writer, rest[0])
        _stop_unless(writer, y.dims[0], lines)
        rows, target, source = across, "j", "i"
    else:
        across, rows, target, source = y.dims[0], lines, "i", "j"
    result = writer.new_output(node.outputs[0], [rows, y.dims[1]])
    storage = result.storage
    inner = [
        "factor = data[e * data_s]",
        "for c in range(y_n1):",
        "    " + _sum(storage, f"o[{target} * y_n1 + c]", f"factor * y[{source} * y_s0 + c * y_s1]"),
    ]
    params = [
        *_data_params(storage.code), *_pattern_params("a"), *_matrix_params("y", storage.code), ("across", "i8"),
        ("rows", "i8"), ("o", f"*{storage.code}"),
    ]  # fmt: skip
    body = [*_check("a", "across"), *_zeros(storage, "rows * y_n1"), *_entries("a", inner)]
    arguments = [*values, *pattern, *_matrix(y), across, rows, _out(result)]
    writer.call(_kernel("sparse_product", params, body), arguments, checked=True)


@TABLE.register(LinesProduct)
def lower_lines_product(op: LinesProduct, node: TensorNode, writer: GraphWriter) -> None:
    """Write the product."""
    _product(node, writer, transposed=False)


@TABLE.register(TransposedLinesProduct)
def lower_transposed_lines_product(op: TransposedLinesProduct, node: TensorNode, writer: GraphWriter) -> None:
    """Write the product."""
    _product(node, writer, transposed=True)


@TABLE.register(SampledProduct)
def lower_sampled_product(op: SampledProduct, node: TensorNode, writer: GraphWriter) -> None:
    """Write the sums of products of two rows."""
    indices, indptr, left, right = node.inputs
    pattern = _pattern(writer, indices, indptr)
    u, w = writer.array(left), writer.array(right)
    _stop_unless(writer, u.dims[0], _line_count(writer, pattern))
    _stop_unless(writer, u.dims[1], w.dims[1])
    result = writer.new_output(node.outputs[0], [pattern[1]])
    storage = result.storage
    inner = [
        f"total = {storage.code}(0)",
        "for c in range(u_n1):",
        "    " + _sum(storage, "total", "u[i * u_s0 + c * u_s1] * w[j * w_s0 + c * w_s1]"),
        "o[e] = total",
    ]
    params = [
        *_pattern_params("a"), *_matrix_params("u", storage.code), *_matrix_params("w", storage.code),
        ("o", f"*{storage.code}"),
    ]  # fmt: skip
    lines = [*_check("a", "w_n0"), *_entries("a", inner)]
    arguments = [*pattern, *_matrix(u), *_matrix(w), _out(result)]
    writer.call(_kernel("sparse_dots", params, lines), arguments, checked=True)


@TABLE.register(Sampled)
def lower_sampled(op: Sampled, node: TensorNode, writer: GraphWriter) -> None:
    """Spread out each line in a row of zeros, and read there."""
    data, indices, indptr, at, pointers, across = node.inputs
    pattern, wanted = _pattern(writer, indices, indptr), _pattern(writer, at, pointers)
    values, length = _with_data(writer, data, pattern), _length(writer, across)
    _stop_unless(writer, pattern[4], wanted[4])
    result = writer.new_output(node.outputs[0], [wanted[1]])
    storage = result.storage
    row = writer.allocate([length], storage)
    lines = [
        *_check("a", "across"),
        *_check("b", "across"),
        "for q in range(across):",
        f"    row[q] = {storage.code}(0)",
        "for i in range(a_m - 1):",
        "    for e in range(i8(a_p[i * a_t]), i8(a_p[(i + 1) * a_t])):",
        "        j = i8(a_i[e * a_s])",
        "        " + _sum(storage, "row[j]", "data[e * data_s]"),
        "    for e in range(i8(b_p[i * b_t]), i8(b_p[(i + 1) * b_t])):",
        "        o[e] = row[i8(b_i[e * b_s])]",
        "    for e in range(i8(a_p[i * a_t]), i8(a_p[(i + 1) * a_t])):",
        f"        row[i8(a_i[e * a_s])] = {storage.code}(0)",
    ]
    params = [
        *_data_params(storage.code), *_pattern_params("a"), *_pattern_params("b"), ("across", "i8"),
        ("row", f"*{storage.code}"), ("o", f"*{storage.code}"),
    ]  # fmt: skip
    arguments = [*values, *pattern, *wanted, length, _out(row), _out(result)]
    writer.call(_kernel("sparse_sampled", params, lines), arguments, checked=True)


@TABLE.register(TransposedPattern)
def lower_transposed_pattern(op: TransposedPattern, node: TensorNode, writer: GraphWriter) -> None:
    """Sort the entries by counting positions."""
    indices, indptr, across = node.inputs
    pattern, length = _pattern(writer, indices, indptr), _length(writer, across)
    sources, starts, order = node.outputs
    results = [
        writer.new_output(sources, [pattern[1]]),
        writer.new_output(starts, [writer.let(f"{length} + 1", "n")]),
        writer.new_output(order, [pattern[1]]),
    ]
    lines = [
        *_check("a", "across"),
        "for j in range(across + 1):",
        "    start[j] = i4(0)",
        "for e in range(a_n):",
        "    j = i8(a_i[e * a_s]) + 1",
        "    start[j] = i4(start[j] + 1)",
        "for j in range(across):",
        "    start[j + 1] = i4(start[j + 1] + start[j])",
        *_entries("a", ["k = i8(start[j])", "start[j] = i4(k + 1)", "source[k] = i4(i)", "order[k] = i4(e)"]),
        "for q in range(across):",
        "    j = across - q",
        "    start[j] = start[j - 1]",
        "if across > 0:",
        "    start[0] = i4(0)",
    ]
    params = [*_pattern_params("a"), ("across", "i8"), *((n, "*i4") for n in ("source", "start", "order"))]
    writer.call(_kernel("sparse_turned", params, lines), [*pattern, length, *map(_out, results)], checked=True)


def _sorted_line(stem: str, first: str) -> list[str]:
    """Return statements that copy the sorted positions of line i into ``line`` from a place on, and count them."""
    return [
        f"count_{stem} = i8({stem}_p[(i + 1) * {stem}_t]) - i8({stem}_p[i * {stem}_t])",
        f"for e in range(count_{stem}):",
        f"    line[{first} + e] = {stem}_i[(i8({stem}_p[i * {stem}_t]) + e) * {stem}_s]",
        f"gap = count_{stem} // 2",
        f"if sorted_{stem} == 1:",
        "    gap = 0",
        "while gap > 0:",
        f"    for q in range(gap, count_{stem}):",
        f"        x = line[{first} + q]",
        "        j = q",
        f"        while j >= gap and line[{first} + j - gap] > x:",
        f"            line[{first} + j] = line[{first} + j - gap]",
        "            j = j - gap",
        f"        line[{first} + j] = x",
        "    gap = gap // 2",
    ]


def _is_sorted(stem: str) -> list[str]:
    return [
        f"sorted_{stem} = 1",
        f"for i in range({stem}_m - 1):",
        f"    for e in range(i8({stem}_p[i * {stem}_t]) + 1, i8({stem}_p[(i + 1) * {stem}_t])):",
        f"        if {stem}_i[(e - 1) * {stem}_s] > {stem}_i[e * {stem}_s]:",
        f"            sorted_{stem} = 0",
    ]


@TABLE.register(CombinedPattern)
def lower_combined_pattern(op: CombinedPattern, node: TensorNode, writer: GraphWriter) -> None:
    """Merge the sorted lines of two patterns into a buffer, then copy what was found."""
    indices, indptr, at, pointers, across = node.inputs
    first, second = _pattern(writer, indices, indptr), _pattern(writer, at, pointers)
    length = _length(writer, across)
    _stop_unless(writer, first[4], second[4])
    found_indices, found_pointers = node.outputs
    starts = writer.new_output(found_pointers, [first[4]])
    most = writer.let(f"{first[1]} + {second[1]}", "n")
    line, found = (writer.allocate([most], starts.storage) for _ in range(2))
    more = "x < count_a and y < count_b" if op.both else "x < count_a or y < count_b"
    keep = "in_a == 1 and in_b == 1" if op.both else "in_a == 1 or in_b == 1"
    merge = [
        "x = 0",
        "y = 0",
        f"while {more}:",
        "    k = i8(0)",
        "    if y >= count_b:",
        "        k = i8(line[x])",
        "    elif x >= count_a:",
        "        k = i8(line[count_a + y])",
        "    else:",
        "        k = min(i8(line[x]), i8(line[count_a + y]))",
        "    in_a = 0",
        "    in_b = 0",
        "    while x < count_a and line[x] == k:",
        "        in_a = 1",
        "        x = x + 1",
        "    while y < count_b and line[count_a + y] == k:",
        "        in_b = 1",
        "        y = y + 1",
        f"    if {keep}:",
        "        found[count] = i4(k)",
        "        count = count + 1",
        "start[i + 1] = i4(count)",
    ]
    lines = [
        *_check("a", "across"),
        *_check("b", "across"),
        *_is_sorted("a"),
        *_is_sorted("b"),
        "count = 0",
        "start[0] = i4(0)",
        "for i in range(a_m - 1):",
        *indented([*_sorted_line("a", "0"), *_sorted_line("b", "count_a"), *merge]),
    ]
    params = [
        *_pattern_params("a"), *_pattern_params("b"), ("across", "i8"), ("line", "*i4"), ("found", "*i4"),
        ("start", "*i4"),
    ]  # fmt: skip
    arguments = [*first, *second, length, _out(line), _out(found), _out(starts)]
    writer.call(_kernel("sparse_combined", params, lines), arguments, checked=True)
    total = writer.let(f"i8({_out(starts)}[{first[4]} - 1])", "n")
    result = writer.new_output(found_indices, [total])
    copy = _kernel("sparse_copy", [("n", "i8"), ("x", "*i4"), ("o", "*i4")], ["for e in range(n):", "    o[e] = x[e]"])
    writer.call(copy, [total, _out(found), _out(result)])


def _terms(body: Sequence[str]) -> list[str]:
    """Return a loop over the terms of line i of a product: entries e of the first factor and f of the second."""
    return [
        "for e in range(i8(a_p[i * a_t]), i8(a_p[(i + 1) * a_t])):",
        "    k = i8(a_i[e * a_s])",
        "    for f in range(i8(b_p[k * b_t]), i8(b_p[(k + 1) * b_t])):",
        "        j = i8(b_i[f * b_s])",
        *indented(body, 2),
    ]


@TABLE.register(ProductPattern)
def lower_product_pattern(op: ProductPattern, node: TensorNode, writer: GraphWriter) -> None:
    """Count the positions of each line, then fill and sort the lines (Gustavson, 1978)."""
    indices, indptr, at, pointers, across = node.inputs
    first, second = _pattern(writer, indices, indptr), _pattern(writer, at, pointers)
    length = _length(writer, across)
    found_indices, found_pointers = node.outputs
    starts = writer.new_output(found_pointers, [first[4]])
    # For each position the last line that has it, counted from 1; negative while lines are filled.
    seen = writer.allocate([length], starts.storage)
    params = [*_pattern_params("a"), *_pattern_params("b"), ("across", "i8"), ("seen", "*i4"), ("start", "*i4")]
    arguments = [*first, *second, length, _out(seen), _out(starts)]
    counted = [
        *_check("b", "across"),
        *_check("a", "(b_m - 1)"),
        "for q in range(across):",
        "    seen[q] = i4(0)",
        "count = 0",
        "start[0] = i4(0)",
        "for i in range(a_m - 1):",
        *indented(_terms(["if seen[j] != i4(i + 1):", "    seen[j] = i4(i + 1)", "    count = count + 1"])),
        "    if count > 2147483647:",
        f"        return {SHAPE}",
        "    start[i + 1] = i4(count)",
    ]
    writer.call(_kernel("sparse_product_counts", params, counted), arguments, checked=True)
    total = writer.let(f"i8({_out(starts)}[{first[4]} - 1])", "n")
    result = writer.new_output(found_indices, [total])
    fill = ["if seen[j] != i4(-i - 1):", "    seen[j] = i4(-i - 1)", "    o[base + n] = i4(j)", "    n = n + 1"]
    filled = [
        "for i in range(a_m - 1):",
        "    base = i8(start[i])",
        "    n = 0",
        *indented(_terms(fill)),
        "    if n < across // 16:",
        "        gap = 1",
        "        while gap < n // 3:",
        "            gap = 3 * gap + 1",
        "        while gap > 0:",
        "            for q in range(gap, n):",
        "                x = o[base + q]",
        "                p = q",
        "                while p >= gap and o[base + p - gap] > x:",
        "                    o[base + p] = o[base + p - gap]",
        "                    p = p - gap",
        "                o[base + p] = x",
        "            gap = gap // 3",
        "    else:",
        "        n = 0",
        "        for q in range(across):",
        "            if seen[q] == i4(-i - 1):",
        "                o[base + n] = i4(q)",
        "                n = n + 1",
    ]
    kernel = _kernel("sparse_product_pattern", [*params, ("o", "*i4")], filled)
    writer.call(kernel, [*arguments, _out(result)], checked=True)


@TABLE.register(SampledSparseProduct)
def lower_sampled_sparse_product(op: SampledSparseProduct, node: TensorNode, writer: GraphWriter) -> None:
    """Add up the terms of each line in a row, where the pattern has a position."""
    a, a_indices, a_indptr, b, b_indices, b_indptr, at, pointers, across = node.inputs
    first, second, wanted = (
        _pattern(writer, *arrays) for arrays in ((a_indices, a_indptr), (b_indices, b_indptr), (at, pointers))
    )
    left, right = _with_data(writer, a, first), _with_data(writer, b, second)
    length = _length(writer, across)
    _stop_unless(writer, first[4], wanted[4])
    result = writer.new_output(node.outputs[0], [wanted[1]])
    storage = result.storage
    row, mark = writer.allocate([length], storage), writer.allocate([length], writer.array(at).storage)
    add = ["if mark[j] == i4(i + 1):", "    " + _sum(storage, "row[j]", "data[e * data_s] * right[f * right_s]")]
    lines = [
        *_check("b", "across"),
        *_check("a", "(b_m - 1)"),
        *_check("c", "across"),
        "for q in range(across):",
        "    mark[q] = i4(0)",
        "for i in range(a_m - 1):",
        "    for e in range(i8(c_p[i * c_t]), i8(c_p[(i + 1) * c_t])):",
        "        j = i8(c_i[e * c_s])",
        "        mark[j] = i4(i + 1)",
        f"        row[j] = {storage.code}(0)",
        *indented(_terms(add)),
        "    for e in range(i8(c_p[i * c_t]), i8(c_p[(i + 1) * c_t])):",
        "        o[e] = row[i8(c_i[e * c_s])]",
    ]
    params = [
        *_data_params(storage.code), ("right", f"*{storage.code}"), ("right_n", "i8"), ("right_s", "i8"),
        *_pattern_params("a"), *_pattern_params("b"), *_pattern_params("c"), ("across", "i8"),
        ("row", f"*{storage.code}"), ("mark", "*i4"), ("o", f"*{storage.code}"),
    ]  # fmt: skip
    arguments = [*left, *right, *first, *second, *wanted, length, _out(row), _out(mark), _out(result)]
    writer.call(_kernel("sparse_sampled_product", params, lines), arguments, checked=True)
