"""Convolutions: the windows of one image are copied into a matrix, which the filters are multiplied with."""

from __future__ import annotations

from string import Template

from treadle.link.numba import (
    GEMM,
    GEMV,
    LIBRARY,
    SHAPE,
    STORAGES,
    TABLE,
    ArrayValue,
    GraphWriter,
    Storage,
    Unit,
    indented,
    make_kernel,
)
from treadle.tensor import TensorNode, TensorVariable
from treadle.tensor.signal.convolution import ConvND

# The lengths of images (n), filters (k) and outputs (p), strides, dilations and padding along three dimensions.
_AXES = tuple(f"{stem}{a}" for stem in "nkpsdl" for a in range(3))
_HEAD = """\
kernel = k0 * k1 * k2
places = p0 * p1 * p2
taps = channels * kernel
windows = new(frame, slot + 2, max(taps * places, 1) * $size)
if windows == 0:
    return 4
col = as_$t(windows)
"""
# For each weight, the elements that it is multiplied by; those from first to last lie inside the image.
_WINDOWS = """\
for c in range(channels):
    for i0 in range(k0):
        for i1 in range(k1):
            for i2 in range(k2):
                row = (((c * k0 + i0) * k1 + i1) * k2 + i2) * places
                shift = i2 * d2 - l2
                first = min(max(-(shift // s2), 0), p2)
                last = max(min((n2 - 1 - shift) // s2 + 1, p2), first)
                for q0 in range(p0):
                    u0 = q0 * s0 + i0 * d0 - l0
                    for q1 in range(p1):
                        u1 = q1 * s1 + i1 * d1 - l1
                        at = row + (q0 * p1 + q1) * p2
                        start = x_q + ((c * n0 + u0) * n1 + u1) * n2 + shift
                        if 0 <= u0 and u0 < n0 and 0 <= u1 and u1 < n1:
                            $inside
                        $outside
"""
_READ = """\
for q in range(first):
    col[at + q] = $t(0)
for q in range(first, last):
    col[at + q] = x[start + q * s2]
for q in range(last, p2):
    col[at + q] = $t(0)
"""
_READ_NOTHING = """\
else:
    for q in range(p2):
        col[at + q] = $t(0)
"""
_ADD = """\
for q in range(first, last):
    x[start + q * s2] = $t(x[start + q * s2] + col[at + q])
"""


def _text(template: str, storage: Storage, **parts: str) -> list[str]:
    return Template(template).safe_substitute(t=storage.code, size=storage.itemsize, **parts).splitlines()


def _windows(storage: Storage, reads: bool) -> list[str]:
    """Return the loops that copy windows into the matrix, or add the matrix back to the image."""
    lines = []
    for line in _WINDOWS.splitlines():
        indent = (len(line) - len(line.lstrip())) // 4
        if "$inside" in line:
            lines += indented(_text(_READ if reads else _ADD, storage), indent)
        elif "$outside" in line:
            lines += indented(_text(_READ_NOTHING, storage), indent) if reads else []
        else:
            lines.append(line)
    return lines


def _multiply(storage: Storage, m: str, n: str, k: str, a: str, b: str, c: str) -> list[str]:
    """Return statements for c = a b: a factor is given by address and strides, the product lies in C order."""
    if storage.kind == "f":
        return [
            f"bad = matmul_{storage.code}(frame, slot, gemm, gemv, {m}, {n}, {k}, {a}, {b}, {c})",
            "if bad != 0:",
            "    return bad",
        ]
    (x, x0, x1), (y, y0, y1) = a.split(", "), b.split(", ")
    t = storage.code
    return [
        f"left = as_{t}({x})",
        f"right = as_{t}({y})",
        f"sums = as_{t}({c})",
        f"for i in range({m} * {n}):",
        f"    sums[i] = {t}(0)",
        f"for i in range({m}):",
        f"    for e in range({k}):",
        f"        factor = left[i * {x0} + e * {x1}]",
        f"        for j in range({n}):",
        f"            sums[i * {n} + j] = {t}(sums[i * {n} + j] + factor * right[e * {y0} + j * {y1}])",
    ]


def convolution_kernel(part: str, storage: Storage) -> Unit:
    """Return the kernel for one part (output, input or filter): images at x, filters at w, outputs at y, in C order."""
    size = storage.itemsize
    filters, outputs = f"w + {size} * g * each * taps", f"y + {size} * (image * groups + g) * each * places"
    if part == "output":
        work = [
            *_windows(storage, reads=True),
            *_multiply(storage, "each", "places", "taps", f"{filters}, taps, 1", "windows, places, 1", outputs),
        ]
    elif part == "input":
        work = [
            *_multiply(storage, "taps", "places", "each", f"{filters}, 1, taps", f"{outputs}, places, 1", "windows"),
            *_windows(storage, reads=False),
        ]
    else:
        work = [
            *_windows(storage, reads=True),
            *_multiply(storage, "each", "taps", "places", f"{outputs}, places, 1", "windows, 1, places", "product"),
            "for i in range(each * taps):",
            f"    total[g * each * taps + i] = {storage.code}(total[g * each * taps + i] + term[i])",
        ]
    lines = _text(_HEAD, storage)
    t = storage.code
    lines.append(f"x = as_{t}(x_at)")
    if part == "input":
        lines += ["for i in range(images * groups * channels * n0 * n1 * n2):", f"    x[i] = {t}(0)"]
    if part == "filter":
        lines += [
            f"product = new(frame, slot + 3, max(each * taps, 1) * {size})",
            "if product == 0:",
            "    return 4",
            f"term = as_{t}(product)",
            f"total = as_{t}(w)",
            "for i in range(groups * each * taps):",
            f"    total[i] = {t}(0)",
        ]
    start = "x_q = (image * groups + g) * channels * n0 * n1 * n2"
    lines += ["for image in range(images):", "    for g in range(groups):", *indented([start, *work], 2), "return 0"]
    names = ["frame", "slot", *(["gemm", "gemv"] if storage.kind == "f" else [])]
    names += ["x_at", "w", "y", "images", "groups", "channels", "each", *_AXES]
    return make_kernel(f"conv_{part}", [(name, "i8") for name in names], lines, LIBRARY.used_by("\n".join(lines)))


@TABLE.register(ConvND)
def lower_convolution(op: ConvND, node: TensorNode, writer: GraphWriter) -> None:
    """Write checks of the lengths and the call of the kernel; float16 is computed in float32."""
    first, second, *sizes = node.inputs
    (out,) = node.outputs
    own = writer.storage(out)
    work = STORAGES["float32"] if own.dtype == "float16" else own
    a, b = _in_order(writer, first, work), _in_order(writer, second, work)
    wanted_lengths = [writer.let(writer.scalar(n, "int64"), "n") for n in sizes]
    groups = str(op.groups)
    if op.part == "output":
        x, w = a.dims, b.dims
        y = (x[0], w[0], *_outputs(op, writer, x[2:], w[2:]))
        writer.same(x[1], writer.let(f"{w[1]} * {groups}", "n"))
    elif op.part == "input":
        y, w = a.dims, b.dims
        x = (y[0], writer.let(f"{w[1]} * {groups}", "n"), *wanted_lengths)
        writer.same(y[1], w[0])
    else:
        x, y = a.dims, b.dims
        w = (y[1], writer.let(f"{x[1]} // {groups}", "n"), *wanted_lengths)
        writer.same(x[0], y[0])
        writer.same(x[1], writer.let(f"{w[1]} * {groups}", "n"))
    if op.part != "output":
        for n, m in zip(y[2:], _outputs(op, writer, x[2:], w[2:]), strict=True):
            writer.same(n, m)
    if op.groups > 1:
        writer.stop_if(f"{w[0]} % {groups} != 0", SHAPE)
    dims = {"output": y, "input": x, "filter": w}[op.part]
    result = writer.new_output(out, dims) if work == own else writer.allocate(writer.known_dims(out, dims), work)
    places = {"output": (a, b, result), "input": (result, b, a), "filter": (a, result, b)}[op.part]
    slot = str(writer.scratch(4))
    routines = [writer.routine(GEMM, work.code), writer.routine(GEMV, work.code)] if work.kind == "f" else []
    each = writer.let(f"{w[0]} // {groups}", "n")
    ones = 3 - op.ndim
    axes = [
        text
        for lengths, fill in (
            (x[2:], "1"),
            (w[2:], "1"),
            (y[2:], "1"),
            (map(str, op.stride), "1"),
            (map(str, op.dilation), "1"),
            ((str(low) for low, _ in op.padding), "0"),
        )
        for text in [*[fill] * ones, *lengths]
    ]
    arguments = ["frame", slot, *routines, *(v.address for v in places), x[0], groups, w[1], each, *axes]
    writer.call(convolution_kernel(op.part, work), arguments, checked=True)
    if work != own:
        writer.copy_into(writer.new_output(out, dims), result)


def _outputs(op: ConvND, writer: GraphWriter, images: tuple[str, ...], filters: tuple[str, ...]) -> list[str]:
    """Return the lengths of the outputs; write that the program stops where a filter does not fit."""
    result = []
    for n, k, s, d, (low, high) in zip(images, filters, op.stride, op.dilation, op.padding, strict=True):
        span = writer.let(f"{n} + {low + high - 1} - ({k} - 1) * {d}", "n")
        writer.stop_if(f"{span} < 0 or {k} < 1", SHAPE)
        result.append(writer.let(f"{span} // {s} + 1", "n"))
    return result


def _in_order(writer: GraphWriter, var: TensorVariable, storage: Storage) -> ArrayValue:
    value = writer.array(var)
    if value.storage == storage:
        return writer.packed(value)
    packed = writer.allocate(value.dims, storage)
    writer.copy_into(packed, value)
    return packed
