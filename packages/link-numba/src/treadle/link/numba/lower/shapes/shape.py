"""Reshape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treadle.link.numba.status import SHAPE
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.values import ArrayValue, ScalarValue, is_literal, product
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import Reshape, TensorNode


@TABLE.register(Reshape)
def lower_reshape(op: Reshape, node: TensorNode, writer: GraphWriter) -> None:
    """Give the array other lengths; it is copied first if it is not in C order."""
    x, *lengths = node.inputs
    (out,) = node.outputs
    value = writer.value(x)
    texts = [writer.scalar(n, "int64") for n in lengths]
    size = product(value.dims) if isinstance(value, ArrayValue) else "1"
    dims = _resolved(writer, texts, writer.let(size, "size"))
    if isinstance(value, ScalarValue):
        if not lengths:
            writer.bind(out, value)
            return
        writer.put(writer.new_output(out, ["1"] * len(dims)), value.text)
        return
    if not lengths:
        writer.bind_scalar(out, value.storage.first(value.address))
        return
    source = writer.packed(value)
    known = writer.known_dims(out, dims)
    strides = writer.packed_strides(known)
    writer.bind(out, replace(source, dims=known, strides=strides))


def _resolved(writer: GraphWriter, lengths: Sequence[str], size: str) -> list[str]:
    """Return the lengths with -1 replaced; the program stops if the number of elements differs."""
    dims = [writer.let(n, "n") for n in lengths]
    free = [n for n in dims if n == "-1" or not is_literal(n)]
    if free:
        for n in free:
            writer.stop_if(f"{n} < -1", SHAPE)
        count = writer.let(" + ".join(f"i8({n} == -1)" for n in free), "free")
        # Minus the product of the other lengths, where one is to be found.
        total = writer.let(product(dims), "total")
        writer.stop_if(f"{count} > 1 or ({count} == 1 and {total} == 0)", SHAPE)
        missing = writer.let(f"{size} // max(-{total}, 1)", "n")
        dims = [n if n not in free else writer.let(f"{missing} if {n} == -1 else {n}", "n") for n in dims]
    writer.stop_if(f"{product(dims)} != {size}", SHAPE)
    return dims
