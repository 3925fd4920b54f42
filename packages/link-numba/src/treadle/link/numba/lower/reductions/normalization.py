"""Softmax, LogSoftmax and LogSumExp: the largest element is subtracted first, so that exp does not overflow."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.link.numba.dtypes import STORAGES, Storage
from treadle.link.numba.lower.reductions.reduction import bind_result
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.loops import nest
from treadle.link.numba.text.unit import Unit, make_kernel
from treadle.link.numba.text.values import ArrayValue
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import LogSoftmax, LogSumExp, Softmax, TensorNode


def _kernel(stem: str, kept: int, reduced: int, source: Storage, target: Storage) -> Unit:
    """Return the kernel: for each kept position, the largest element, the sum of exponentials, and the result."""
    t = source.code
    keeps = range(kept)
    runs = range(reduced)
    q = {p: " + ".join(f"d{d} * {p}_s{d}" for d in keeps) or "0" for p in "xo"}
    at = {p: f"{p}_q" + "".join(f" + j{d} * {p}_r{d}" for d in runs) for p in "xo"}
    place = at["x"]
    element = f"({source.loaded(f'x[{place}]')})"
    power = f"libm_exp_{t}({element} - top)"

    def over(*body: str) -> list[str]:
        return nest(reduced, [], body, index="j", length="m")

    lines = [
        *(f"{p}_q = {text}" for p, text in q.items()),
        f"top = {t}(-INF)",
        *over(f"top = larger(top, {element})"),
        f"top = pick(fabs(top) < {t}(INF), top, {t}(0))",
        f"total = {t}(0)",
    ]
    if stem == "softmax":
        if target.dtype != "float16":
            lines += over(f"o[{at['o']}] = {power}")
            lines += over(f"total = add_any(total, o[{at['o']}])")
            lines += over(f"o[{at['o']}] = o[{at['o']}] / total")
        else:
            lines += over(f"total = total + {power}")
            lines += over(f"o[{at['o']}] = " + target.stored(f"{power} / total"))
    else:
        lines += over(f"total = add_any(total, {power})")
        if stem == "log_softmax":
            lines.append(f"lost = libm_log_{t}(total)")
            lines += over(f"o[{at['o']}] = " + target.stored(f"{element} - top - lost"))
        else:
            lines.append("o[o_q] = " + target.stored(f"libm_log_{t}(total) + top"))
    text = [*nest(kept, [], lines), "return 0"]
    params = [(f"n{d}", "i8") for d in keeps] + [(f"m{d}", "i8") for d in runs]
    for p, storage in (("x", source), ("o", target)):
        params += [
            (p, f"*{storage.memory}"),
            *((f"{p}_s{d}", "i8") for d in keeps),
            *((f"{p}_r{d}", "i8") for d in runs),
        ]
    return make_kernel(stem, params, text, LIBRARY.used_by("\n".join(text)))


def _run(
    writer: GraphWriter, stem: str, axes: Sequence[int], value: ArrayValue, result: ArrayValue, strides: Sequence[str]
) -> None:
    kept = [d for d in range(value.ndim) if d not in axes]
    order = [*kept, *axes]
    unit = _kernel(stem, len(kept), len(axes), value.storage, result.storage)
    source = [f"as_{value.storage.memory}({value.address})", *(value.strides[d] for d in order)]
    target = [f"as_{result.storage.memory}({result.address})", *(strides[d] for d in order)]
    writer.call(unit, [*(value.dims[d] for d in order), *source, *target])


@TABLE.register(Softmax, LogSoftmax)
def lower_softmax(op: Softmax | LogSoftmax, node: TensorNode, writer: GraphWriter) -> None:
    """Write the call of the kernel; the result has the shape of the input."""
    stem = "softmax" if isinstance(op, Softmax) else "log_softmax"
    value = writer.in_memory(node.inputs[0])
    if value.ndim:
        result = writer.new_output(node.outputs[0], value.dims)
        _run(writer, stem, op.axes, value, result, result.strides)
        return
    cell = writer.allocate(["1"], value.storage)
    _run(writer, stem, op.axes, value, ArrayValue(cell.address, (), (), value.storage, cell.slots), ())
    writer.bind_scalar(node.outputs[0], value.storage.loaded(f"as_{value.storage.memory}({cell.address})[0]"))


@TABLE.register(LogSumExp)
def lower_log_sum_exp(op: LogSumExp, node: TensorNode, writer: GraphWriter) -> None:
    """Write the call of the kernel; there is one result for each position on the kept axes."""
    value = writer.in_memory(node.inputs[0])
    kept = [value.dims[d] for d in range(value.ndim) if d not in op.axes]
    result = writer.allocate(kept or ["1"], STORAGES[value.storage.dtype])
    own = iter(result.strides)
    strides = ["0" if d in op.axes else next(own) for d in range(value.ndim)]
    _run(writer, "log_sum_exp", op.axes, value, result, strides)
    bind_result(writer, node.outputs[0], result, value.storage.dtype)
