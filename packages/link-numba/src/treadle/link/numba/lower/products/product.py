"""Matrix products: BLAS for floats, loops for the rest."""

from __future__ import annotations

from dataclasses import replace

from treadle.link.numba.dtypes import Storage
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.loops import nest
from treadle.link.numba.text.unit import Unit, make_kernel
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import MatMul, TensorNode


def _loops(storage: Storage) -> list[str]:
    """Return statements that multiply one pair of matrices at x_q, y_q into o_q."""
    if storage.kind == "f":  # float16, carried in float32
        element = f"{storage.loaded('x[x_q + i * x_r + k * x_c]')} * {storage.loaded('y[y_q + k * y_r + j * y_c]')}"
        return [
            "for i in range(rows):",
            "    for j in range(columns):",
            "        total = f4(0)",
            "        for k in range(inner):",
            f"            total = total + {element}",
            "        o[o_q + i * columns + j] = " + storage.stored("total"),
        ]
    is_bool = storage.kind == "b"
    x, y, o = (
        storage.loaded(t)
        for t in ("x[x_q + i * x_r + k * x_c]", "y[y_q + k * y_r + j * y_c]", "o[o_q + i * columns + j]")
    )
    total = f"({o}) | (factor & ({y}))" if is_bool else f"{storage.code}({o} + factor * {y})"
    return [
        "for i in range(rows):",
        "    for j in range(columns):",
        "        o[o_q + i * columns + j] = " + storage.stored("False" if is_bool else f"{storage.code}(0)"),
        "    for k in range(inner):",
        f"        factor = {x}",
        "        for j in range(columns):",
        "            o[o_q + i * columns + j] = " + storage.stored(total),
    ]


def _blas(storage: Storage) -> list[str]:
    """Return the statement that multiplies one pair of matrices by BLAS."""
    size = storage.itemsize
    x, y, o = (f"{p} + {size} * {p}_q" for p in ("x", "y", "o"))
    return [
        f"bad = matmul_{storage.code}(frame, slot, rows, columns, inner, {x}, x_r, x_c, {y}, y_r, y_c, {o})",
        "if bad != 0:",
        "    return bad",
    ]


def multiplication(batch: int, storage: Storage) -> Unit:
    """Return the kernel that multiplies stacks of matrices, with `batch` dimensions in front."""
    blas = storage.kind in "fc" and storage.dtype != "float16"
    sizes = [("rows", "i8"), ("columns", "i8"), ("inner", "i8")]
    kind = "i8" if blas else f"*{storage.memory}"
    params = [(f"n{d}", "i8") for d in range(batch)] + sizes
    for name in ("x", "y"):
        params += [
            (name, kind),
            *((f"{name}_s{d}", "i8") for d in range(batch)),
            (f"{name}_r", "i8"),
            (f"{name}_c", "i8"),
        ]
    params.append(("o", kind))
    if blas:
        params += [("frame", "i8"), ("slot", "i8")]
    places = [f"{p}_q = " + (" + ".join(f"d{d} * {p}_s{d}" for d in range(batch)) or "0") for p in ("x", "y")]
    work = _blas(storage) if blas else _loops(storage)
    body = [*places, *work, "o_q = o_q + rows * columns"]
    lines = ["o_q = 0", *nest(batch, body), "return 0"]
    return make_kernel("matmul", params, lines, LIBRARY.used_by("\n".join(lines)))


@TABLE.register(MatMul)
def lower_matmul(op: MatMul, node: TensorNode, writer: GraphWriter) -> None:
    """Multiply, after converting both factors to the dtype of the product."""
    (out,) = node.outputs
    storage = writer.storage(out)
    factors = map(writer.array, node.inputs)
    a, b = (x if x.storage == storage else writer.copied(x, storage) for x in factors)
    inner = writer.same(a.dims[-1], b.dims[-2])
    kind = out.type
    batch = writer.broadcast_dims([a.dims[:-2], b.dims[:-2]], kind.shape[:-2])
    result = writer.new_output(out, (*batch, a.dims[-2], b.dims[-1]))
    arguments = [*batch, a.dims[-2], b.dims[-1], inner]
    blas = storage.kind in "fc" and storage.dtype != "float16"
    for x in (a, b):
        address = x.address if blas else f"as_{storage.memory}({x.address})"
        stack = replace(x, dims=x.dims[:-2], strides=x.strides[:-2])
        arguments += [address, *writer.strides_in(stack, batch), *x.strides[-2:]]
    if blas:
        slot = writer.scratch(2)
        arguments += [result.address, "frame", str(slot)]
    else:
        arguments.append(f"as_{storage.memory}({result.address})")
    writer.call(multiplication(len(batch), storage), arguments, checked=blas)
