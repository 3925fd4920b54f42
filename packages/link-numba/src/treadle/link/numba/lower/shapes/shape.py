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
        result = writer.new_output(out, ["1"] * len(dims))
        writer.add(f"as_{value.storage.memory}({result.address})[0] = {value.storage.stored(value.text)}")
        return
    if not lengths:
        writer.bind_scalar(out, value.storage.loaded(f"as_{value.storage.memory}({value.address})[0]"))
        return
    source = writer.packed(value)
    known = writer.known_dims(out, dims)
    strides = writer.packed_strides(known)
    writer.bind(out, replace(source, dims=known, strides=strides))


def _resolved(writer: GraphWriter, lengths: Sequence[str], size: str) -> list[str]:
    """Return the lengths with -1 replaced; the program stops if the number of elements differs."""
    free = [d for d, n in enumerate(lengths) if n == "-1"]
    if all(map(is_literal, lengths)) and not free:
        writer.stop_if(f"{product(list(lengths))} != {size}", SHAPE)
        return list(lengths)
    dims = [writer.let(n, "n") if is_literal(n) else _named(writer, n) for n in lengths]
    names = [n for n in dims if not is_literal(n)]
    if not free and not names:
        return dims
    remainder = writer.name("rest")
    count = writer.name("free")
    writer.add(f"{remainder} = 1", f"{count} = 0")
    for n in dims:
        writer.stop_if(f"{n} < -1", SHAPE)
        writer.add(f"if {n} == -1:", f"    {count} = {count} + 1", "else:", f"    {remainder} = {remainder} * {n}")
    writer.stop_if(f"{count} > 1", SHAPE)
    writer.add(f"if {count} == 1:")
    writer.add(f"    if {remainder} == 0:", f"        return STOP({SHAPE})")
    missing = writer.name("n")
    writer.add(f"    {missing} = {size} // {remainder}", "else:", f"    {missing} = 1")
    result = []
    for n in dims:
        if n == "-1":
            result.append(missing)
        elif is_literal(n):
            result.append(n)
        else:
            chosen = writer.name("n")
            writer.add(f"{chosen} = {n}", f"if {n} == -1:", f"    {chosen} = {missing}")
            result.append(chosen)
    writer.stop_if(f"{product(result)} != {size}", SHAPE)
    return result


def _named(writer: GraphWriter, text: str) -> str:
    return writer.let(text, "n")
