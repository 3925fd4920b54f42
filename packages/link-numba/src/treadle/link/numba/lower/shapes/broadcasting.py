"""SumTo."""

from __future__ import annotations

from treadle.link.numba.lower.reductions.reduction import accumulate, bind_result, cleared
from treadle.link.numba.status import SHAPE
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.values import ScalarValue
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import SumTo, TensorNode


@TABLE.register(SumTo)
def lower_sum_to(op: SumTo, node: TensorNode, writer: GraphWriter) -> None:
    """Sum over the dimensions that were broadcast; if there are none, the result is the array itself."""
    x, *lengths = node.inputs
    (out,) = node.outputs
    value = writer.value(x)
    if isinstance(value, ScalarValue):
        writer.bind(out, value)
        return
    wanted_dims = [writer.let(writer.scalar(n, "int64"), "n") for n in lengths]
    extra = value.ndim - len(wanted_dims)
    dims = list(writer.known_dims(out, wanted_dims))
    for n, m in zip(value.dims[extra:], dims, strict=True):
        if m not in {"1", n}:
            writer.stop_if(f"{m} != 1 and {m} != {n}", SHAPE)
    if not extra and list(value.dims) == dims:
        writer.bind(out, value)
        return
    # The result always has its own memory: sharing decided at run time would tie two lifetimes together.
    inner = "float32" if value.storage.dtype == "float16" else value.storage.dtype
    sums = cleared(writer, dims or ["1"], inner, "sum")
    strides = ["0"] * extra + list(writer.strides_in(sums, value.dims[extra:]) if dims else ())
    accumulate(writer, "sum", value, sums, strides, inner)
    bind_result(writer, out, sums, inner)
