"""Sorting by the bits of keys, which keeps the order of equal elements."""

from __future__ import annotations

from treadle.link.numba.dtypes import STORAGES, Storage
from treadle.link.numba.routines.sorts import COUNTS
from treadle.link.numba.status import MEMORY
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.loops import Array, lengths, offset
from treadle.link.numba.text.unit import Unit, indented, make_kernel
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import ArgSort, Sort, TensorNode

# Positions have half a word.
_MOST = 2**32 - 1


def _key(x: Storage, positions: bool) -> list[str]:
    """Return the statements that make the key of an element in memory, ``y``: NaN is above all other numbers.

    For positions, which keep the order of equal elements, -0.0 and 0.0 have one key.
    """
    if x.dtype == "float64":
        equal = ["y = y + 0.0"] if positions else []
        flipped = "u8(u) ^ (u8(u >> 63) | (u8(1) << u8(63)))"
        return [*equal, "u = bits_f8_i8(y)", f"key = pick(y != y, u8(-1), {flipped})"]
    if x.dtype == "float32":
        equal = ["y = y + f4(0)"] if positions else []
        flipped = "u8((u ^ ((u >> 63) | 2147483648)) & 4294967295)"
        return [*equal, "u = i8(bits_f4_i4(y))", f"key = pick(y != y, u8(4294967295), {flipped})"]
    if x.dtype == "float16":
        equal = ["u = pick(u == 32768, 0, u)"] if positions else []
        flipped = "u8(pick(u >= 32768, 65535 - u, u + 32768))"
        return ["u = i8(y)", *equal, f"key = pick((u & 32767) > 31744, u8(65535), {flipped})"]
    if x.kind == "i" and x.itemsize == 8:
        return ["key = u8(y) ^ (u8(1) << u8(63))"]
    return [f"key = u8(i8(y) + {2 ** (8 * x.itemsize - 1)})" if x.kind == "i" else "key = u8(y)"]


def _back(x: Storage) -> list[str]:
    """Return the statements that make the element in memory, ``y``, of its key."""
    if x.dtype == "float64":
        return ["u = i8(key)", "y = bits_i8_f8(pick(u < 0, u ^ -9223372036854775808, ~u))"]
    if x.dtype == "float32":
        return ["u = i8(key)", "y = bits_u4_f4(u4(pick(u >= 2147483648, u ^ 2147483648, 4294967295 - u)))"]
    if x.dtype == "float16":
        return ["u = i8(key)", "y = u2(pick(u >= 32768, u - 32768, 65535 - u))"]
    if x.kind == "i" and x.itemsize == 8:
        return ["y = i8(key ^ (u8(1) << u8(63)))"]
    return [f"y = {x.memory}(i8(key) - {2 ** (8 * x.itemsize - 1)})" if x.kind == "i" else f"y = {x.memory}(key)"]


def _kernel(axis: int, ndim: int, source: Storage, positions: bool) -> Unit:
    """Return the kernel that sorts each line along an axis, or finds the positions that would sort it."""
    x = Array("x", source, (False,) * ndim)
    target = STORAGES["int64"] if positions else source
    o = Array("o", target, (False,) * ndim)
    batch_axes = [d for d in range(ndim) if d != axis]
    n = f"n{axis}"
    keys = "k" if positions else "a"
    place = f"o[o_q + i * o_s{axis}]"
    if positions:
        sort = f"turned = order_keys(k, a, b, {n}, counts)"
        store = {name: [f"{place} = i8({name}[i] & u8({_MOST}))"] for name in "ab"}
    else:
        sort = f"turned = sort_keys(a, b, {n}, {8 * source.itemsize}, counts)"
        store = {name: [f"key = {name}[i]", *_back(source), f"{place} = y"] for name in "ab"}
    body = [
        *(f"{array.name}_q = {offset(array, batch_axes)}" for array in (x, o)),
        f"for i in range({n}):",
        *indented([f"y = x[x_q + i * x_s{axis}]", *_key(source, positions), f"{keys}[i] = key"]),
        sort,
        "if turned == 1:",
        f"    for i in range({n}):",
        *indented(store["b"], 2),
        "else:",
        f"    for i in range({n}):",
        *indented(store["a"], 2),
    ]
    for d in reversed(batch_axes):
        body = [f"for d{d} in range(n{d}):", *indented(body)]
    refused = [f"if {n} > {_MOST}:", f"    return {MEMORY}"] if positions else []
    lines = [*refused, *body, "return 0"]
    scratch = [(name, "*u8") for name in ("kab" if positions else "ab")]
    params = [*lengths(ndim), *x.params(), *o.params(), *scratch, ("counts", "*i8")]
    return make_kernel("argsort" if positions else "sort", params, lines, LIBRARY.used_by("\n".join(lines)))


@TABLE.register(Sort, ArgSort)
def lower_sort(op: Sort | ArgSort, node: TensorNode, writer: GraphWriter) -> None:
    """Write the call that sorts each line, with scratch arrays for keys."""
    value = writer.array(node.inputs[0])
    result = writer.new_output(node.outputs[0], value.dims)
    positions = isinstance(op, ArgSort)
    unit = _kernel(op.axis, value.ndim, value.storage, positions)
    arguments = list(value.dims)
    for array in (value, result):
        arguments += [f"as_{array.storage.memory}({array.address})", *array.strides]
    for _ in range(3 if positions else 2):
        line = writer.allocate([value.dims[op.axis]], STORAGES["uint64"])
        arguments.append(f"as_u8({line.address})")
    counts = writer.allocate([str(COUNTS)], STORAGES["int64"])
    arguments.append(f"as_i8({counts.address})")
    writer.call(unit, arguments, checked=positions)
