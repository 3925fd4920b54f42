"""Softmax, LogSoftmax and LogSumExp: the largest element is subtracted first, so that exp does not overflow."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.link.numba.dtypes import STORAGES
from treadle.link.numba.lower.reductions.reduction import bind_result, element_along, over_kept
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.loops import nest
from treadle.link.numba.text.values import ArrayValue
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import LogSoftmax, LogSumExp, Softmax, TensorNode


def _run(writer: GraphWriter, stem: str, axes: Sequence[int], value: ArrayValue, result: ArrayValue) -> None:
    """Write for each kept position the largest element, the sum of exponentials, and the result."""
    source, target = value.storage, result.storage
    t = source.code
    element, place = f"({source.loaded(element_along('x', axes))})", element_along("o", axes)
    power = f"libm_exp_{t}({element} - top)"

    def over(body: str) -> list[str]:
        return nest(len(axes), [], [body], index="j", length="m")

    lines = [
        f"top = {t}(-INF)",
        *over(f"top = larger(top, {element})"),
        f"top = pick(fabs(top) < {t}(INF), top, {t}(0))",
        f"total = {t}(0)",
    ]
    if stem == "softmax":
        if target.dtype != "float16":
            lines += over(f"{place} = {power}")
            lines += over(f"total = add_any(total, {place})")
            lines += over(f"{place} = {place} / total")
        else:
            lines += over(f"total = total + {power}")
            lines += over(f"{place} = " + target.stored(f"{power} / total"))
    else:
        lines += over(f"total = add_any(total, {power})")
        if stem == "log_softmax":
            lines.append(f"lost = libm_log_{t}(total)")
            lines += over(f"{place} = " + target.stored(f"{element} - top - lost"))
        else:
            lines.append("o[o_q] = " + target.stored(f"libm_log_{t}(total) + top"))
    over_kept(writer, stem, axes, value, result, lines)


@TABLE.register(Softmax, LogSoftmax)
def lower_softmax(op: Softmax | LogSoftmax, node: TensorNode, writer: GraphWriter) -> None:
    """Write the call of the kernel; the result has the shape of the input."""
    stem = "softmax" if isinstance(op, Softmax) else "log_softmax"
    value = writer.in_memory(node.inputs[0])
    if value.ndim:
        result = writer.new_output(node.outputs[0], value.dims)
        _run(writer, stem, op.axes, value, result)
        return
    cell = writer.allocate(["1"], value.storage)
    _run(writer, stem, op.axes, value, cell)
    writer.bind_scalar(node.outputs[0], value.storage.loaded(f"as_{value.storage.memory}({cell.address})[0]"))


@TABLE.register(LogSumExp)
def lower_log_sum_exp(op: LogSumExp, node: TensorNode, writer: GraphWriter) -> None:
    """Write the call of the kernel; there is one result for each position on the kept axes."""
    value = writer.in_memory(node.inputs[0])
    kept = [value.dims[d] for d in range(value.ndim) if d not in op.axes]
    result = writer.allocate(kept or ["1"], STORAGES[value.storage.dtype])
    _run(writer, "log_sum_exp", op.axes, value, result)
    bind_result(writer, node.outputs[0], result, value.storage.dtype)
