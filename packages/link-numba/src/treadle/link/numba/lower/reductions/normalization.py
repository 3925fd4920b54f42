"""Softmax, LogSoftmax and LogSumExp: the largest element is subtracted first, so that exp does not overflow."""

from __future__ import annotations

from treadle.link.numba.lower.reductions.reduction import element_along, over_kept
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.loops import nest
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import LogSoftmax, LogSumExp, Softmax, TensorNode


@TABLE.register(Softmax, LogSoftmax, LogSumExp)
def lower_normalization(op: Softmax | LogSoftmax | LogSumExp, node: TensorNode, writer: GraphWriter) -> None:
    """Write the call of a kernel, which for each kept position finds the largest element and sums exponentials."""
    (out,), axes = node.outputs, op.axes
    value = writer.in_memory(node.inputs[0])
    dims = [n for d, n in enumerate(value.dims) if d not in axes] if isinstance(op, LogSumExp) else value.dims
    result = writer.new_output(out, dims) if dims else writer.allocate(["1"], value.storage)
    source, target = value.storage, result.storage
    t = source.code
    element, place = f"({source.loaded(element_along('x', axes))})", element_along("o", axes)
    power = f"libm_exp_{t}({element} - top)"

    def over(body: str) -> list[str]:
        return nest(len(axes), [body], index="j", length="m")

    lines = [
        f"top = {t}(-INF)",
        *over(f"top = larger(top, {element})"),
        f"top = pick(fabs(top) < {t}(INF), top, {t}(0))",
        f"total = {t}(0)",
    ]
    if isinstance(op, Softmax):
        if target.dtype != "float16":
            lines += over(f"{place} = {power}")
            lines += over(f"total = add_any(total, {place})")
            lines += over(f"{place} = {place} / total")
        else:
            lines += over(f"total = total + {power}")
            lines += over(f"{place} = " + target.stored(f"{power} / total"))
    else:
        lines += over(f"total = add_any(total, {power})")
        if isinstance(op, LogSoftmax):
            lines.append(f"lost = libm_log_{t}(total)")
            lines += over(f"{place} = " + target.stored(f"{element} - top - lost"))
        else:
            lines.append("o[o_q] = " + target.stored(f"libm_log_{t}(total) + top"))
    over_kept(writer, type(op).__name__.lower(), axes, value, result, lines)
    if not dims:
        writer.bind_scalar(out, target.first(result.address))
