"""Fourier transforms: NumPy's compiled loops, called for all lines along an axis."""

from __future__ import annotations

from dataclasses import replace

from treadle.link.numba import LIBRARY, SHAPE, TABLE, GraphWriter, LoopPointer, Unit, make_kernel, nest
from treadle.tensor import TensorNode
from treadle.tensor.fft.fourier import FourierTransform
from treadle.tensor.signal.lower.pocketfft import MODULE, types_of

# The rules take complex numbers too.
TAKES_COMPLEX = True


def transform_kernel(code: str, outer: int, sizes: tuple[int, int]) -> Unit:
    """Return the kernel that runs NumPy's loop over the last of `outer` dimensions, inside loops over the others."""
    last = outer - 1
    places = [
        f"words[{at}] = {p} + {size} * (" + (" + ".join(f"d{d} * {p}_s{d}" for d in range(last)) or "0") + ")"
        for at, p, size in ((0, "x", sizes[0]), (2, "o", sizes[1]))
    ]
    call = "call_pppp_none(loop, as_i8(block), as_i8(block + 24), as_i8(block + 48), as_u1(data))"
    lines = [
        "block = new(frame, slot, 96)",
        "if block == 0:",
        "    return 4",
        "words = as_i8(block)",
        # NumPy's loop takes the addresses of lines, factor and results, then their counts, then strides in bytes.
        f"as_{code}(block + 88)[0] = {code}(1)",
        "words[1] = block + 88",
        f"words[3] = {f'n{last}' if outer else '1'}",
        "words[4] = n",
        "words[5] = m",
        f"words[6] = {f'x_s{last} * {sizes[0]}' if outer else '0'}",
        "words[7] = 0",
        f"words[8] = {f'o_s{last} * {sizes[1]}' if outer else '0'}",
        f"words[9] = x_r * {sizes[0]}",
        f"words[10] = o_r * {sizes[1]}",
        *nest(max(last, 0), [], [*places, call]),
        "return 0",
    ]
    names = ["loop", "data", "frame", "slot", "x", "o", "n", "m", "x_r", "o_r"]
    names += [f"{stem}{d}" for stem in ("n", "x_s", "o_s") for d in range(outer)]
    return make_kernel("transform", [(k, "i8") for k in names], lines, LIBRARY.used_by("\n".join(lines)))


@TABLE.register(FourierTransform)
def lower_fourier_transform(op: FourierTransform, node: TensorNode, writer: GraphWriter) -> None:
    """Write the length along the axis and the call; NumPy has one loop for an even and one for an odd real length."""
    var, *wanted = node.inputs
    (out,) = node.outputs
    x = writer.array(var)
    axis = x.ndim + op.axis
    n = x.dims[axis]
    writer.stop_if(f"{n} < 1", SHAPE)
    m = n
    if op.kind == "rfft":
        m = writer.let(f"{n} // 2 + 1", "n")
    elif wanted:
        m = writer.let(writer.scalar(wanted[0], "int64"), "n")
        writer.stop_if(f"{m} < 1 or {n} != {m} // 2 + 1", SHAPE)
    result = writer.new_output(out, (*x.dims[:axis], m, *x.dims[axis + 1 :]))
    others = [d for d in range(x.ndim) if d != axis]
    code = "f4" if var.type.dtype in {"float32", "complex64"} else "f8"
    sizes = x.storage.itemsize, result.storage.itemsize
    arguments = [
        "frame",
        str(writer.scratch(1)),
        x.address,
        result.address,
        n,
        m,
        x.strides[axis],
        result.strides[axis],
    ]
    arguments += [v[d] for v in (x.dims, x.strides, result.strides) for d in others]
    kernel = transform_kernel(code, len(others), sizes)

    def call(name: str) -> None:
        loop = LoopPointer(MODULE, name, types_of(name, single=code == "f4"))
        pointers = [writer.pointer(loop), writer.pointer(replace(loop, is_data=True))]
        writer.call(kernel, [*pointers, *arguments], checked=True)

    if op.kind != "rfft":
        call(op.kind)
        return
    for parity, name in enumerate(("rfft_n_even", "rfft_n_odd")):
        writer.add(f"if {n} % 2 == {parity}:")
        mark = len(writer.lines)
        call(name)
        writer.lines[mark:] = [f"    {line}" for line in writer.lines[mark:]]
