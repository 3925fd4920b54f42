"""Sorting by merging runs, which keeps the order of equal elements."""

from __future__ import annotations

from treadle.link.numba.dtypes import STORAGES, Storage
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.loops import Array, lengths, offset
from treadle.link.numba.text.unit import Unit, indented, make_kernel
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import ArgSort, Sort, TensorNode

# Runs of this many elements are sorted by insertion before they are merged.
_RUN = 16


def _kernel(axis: int, ndim: int, source: Storage, positions: bool) -> Unit:
    """Return the kernel that sorts each line along an axis, or finds the positions that would sort it."""
    x = Array("x", source, (False,) * ndim)
    target = STORAGES["int64"] if positions else source
    o = Array("o", target, (False,) * ndim)
    batch_axes = [d for d in range(ndim) if d != axis]
    n = f"n{axis}"

    def value(item: str) -> str:
        return source.loaded(f"x[x_q + {item} * x_s{axis}]" if positions else item)

    before = "y_x < z_x"
    if source.kind == "f":
        before += " or (z_x != z_x and y_x == y_x)"
    if source.kind == "b":
        before = "z_x and not y_x"
    insertion = [
        "start = 0",
        f"while start < {n}:",
        f"    stop = min({n}, start + {_RUN})",
        "    for i in range(start + 1, stop):",
        "        y = a[i]",
        f"        y_x = {value('y')}",
        "        j = i",
        "        while j > start:",
        "            z = a[j - 1]",
        f"            z_x = {value('z')}",
        f"            if not ({before}):",
        "                break",
        "            a[j] = z",
        "            j = j - 1",
        "        a[j] = y",
        "    start = stop",
    ]
    merging = [
        f"width = {_RUN}",
        f"while width < {n}:",
        "    start = 0",
        f"    while start < {n}:",
        f"        mid = min({n}, start + width)",
        f"        end = min({n}, start + 2 * width)",
        "        i = start",
        "        j = mid",
        "        for k in range(start, end):",
        "            right = i >= mid",
        "            if not right and j < end:",
        f"                y_x = {value('a[j]')}",
        f"                z_x = {value('a[i]')}",
        f"                right = {before}",
        "            if right:",
        "                b[k] = a[j]",
        "                j = j + 1",
        "            else:",
        "                b[k] = a[i]",
        "                i = i + 1",
        "        start = end",
        "    c = a",
        "    a = b",
        "    b = c",
        "    width = 2 * width",
    ]
    first = "i" if positions else f"x[x_q + i * x_s{axis}]"
    body = [
        *(f"{array.name}_q = {offset(array, batch_axes)}" for array in (x, o)),
        f"for i in range({n}):",
        f"    a[i] = {first}",
        *insertion,
        *merging,
        f"for i in range({n}):",
        f"    o[o_q + i * o_s{axis}] = a[i]",
    ]
    for d in reversed(batch_axes):
        body = [f"for d{d} in range(n{d}):", *indented(body)]
    lines = [*body, "return 0"]
    scratch = [(name, f"*{target.memory}") for name in "ab"]
    params = [*lengths(ndim), *x.params(), *o.params(), *scratch]
    return make_kernel("argsort" if positions else "sort", params, lines, LIBRARY.used_by("\n".join(lines)))


@TABLE.register(Sort, ArgSort)
def lower_sort(op: Sort | ArgSort, node: TensorNode, writer: GraphWriter) -> None:
    """Write the call that sorts each line, with two scratch arrays."""
    value = writer.array(node.inputs[0])
    result = writer.new_output(node.outputs[0], value.dims)
    unit = _kernel(op.axis, value.ndim, value.storage, isinstance(op, ArgSort))
    arguments = list(value.dims)
    for array in (value, result):
        arguments += [f"as_{array.storage.memory}({array.address})", *array.strides]
    for _ in range(2):
        line = writer.allocate([value.dims[op.axis]], result.storage)
        arguments.append(f"as_{result.storage.memory}({line.address})")
    writer.call(unit, arguments)
