"""Indexing: writing into views, index arrays as loops that check every position."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from treadle.kernels import Length
from treadle.link.numba.dtypes import Storage
from treadle.link.numba.status import INDEX
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.kernels import NumbaSite
from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.loops import Array, lengths, nest
from treadle.link.numba.text.reducing import combined
from treadle.link.numba.text.unit import Unit, indented, make_kernel
from treadle.link.numba.text.values import ArrayValue, ScalarValue, Value, padded
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    Entry,
    Gather,
    IncSubtensor,
    Positions,
    TensorNode,
    TensorVariable,
    basic_part,
    gather_plan,
    symbolic_count,
)


def _basic(
    writer: GraphWriter, node: TensorNode, value: ArrayValue, parts: Sequence[TensorVariable]
) -> tuple[ArrayValue, list[TensorVariable]]:
    """Return the view that slices and positions pick, and the index arrays, whose dimensions it has as a whole."""
    entries: Sequence[Entry] = node.op.entries  # type: ignore[attr-defined]  # of an index op
    arrays: list[TensorVariable] = []
    bounds: list[TensorVariable] = []
    inputs = iter(parts)
    for entry in entries:
        (arrays if isinstance(entry, Positions) else bounds).extend(islice(inputs, symbolic_count([entry])))
    site = NumbaSite(node, writer)
    layout = [*map(Length, value.dims)], [*map(Length, value.strides)]
    axes, shift = basic_part(site, layout, entries, iter(bounds))
    return site.part(value, [axis for _, axis in axes], shift), arrays


def _fresh(writer: GraphWriter, node: TensorNode) -> ArrayValue:
    """Return a copy of the first input to write into, or the input itself if nothing else reads it."""
    (out,) = node.outputs
    x = node.inputs[0]
    value = writer.array(x)
    if writer.may_overwrite(x):
        writer.bind(out, value)
        return value
    copy = writer.new_output(out, value.dims)
    writer.copy_into(copy, value)
    return copy


def _changed(op: IncSubtensor | AdvancedIncSubtensor, storage: Storage, old: str, new: str) -> str:
    return new if op.set else combined("sum", storage, old, new)


@TABLE.register(IncSubtensor)
def lower_inc_subtensor(op: IncSubtensor, node: TensorNode, writer: GraphWriter) -> None:
    """Write into a view of a copy."""
    x, y, *parts = node.inputs
    target: Value = writer.value(x)
    values = writer.value(y)
    if isinstance(target, ScalarValue):
        new = writer.scalar(y)
        writer.bind_scalar(node.outputs[0], f"({_changed(op, target.storage, target.text, new)})")
        return
    copy = _fresh(writer, node)
    part, _ = _basic(writer, node, copy, parts)
    storage = part.storage
    if part.ndim == 0:
        cell = f"as_{storage.memory}({part.address})[0]"
        new = writer.let(_changed(op, storage, f"({storage.loaded(cell)})", writer.scalar(y)), code=storage.code)
        writer.add(f"{cell} = {storage.stored(new)}")
        return
    source = writer.fitted(values, part.dims)
    body = [f"o_x = {_changed(op, storage, 'o_x', 'x_x')}"]
    writer.run_elementwise("set" if op.set else "inc", [("x", source)], [("o", part)], body, reads_outputs=not op.set)


def picking(
    plan: Gather, arrays: Sequence[Storage], others: int, body: Sequence[str], y: Array | None, storage: Storage
) -> Unit:
    """Return the kernel that visits every element that index arrays pick.

    The parameters of index array k are ``p<k>``, its strides, and length and stride of the dimension it indexes,
    ``m<k>`` and ``t<k>``. The other dimensions have lengths ``n<d>`` and strides ``s<d>``. `body` has statements
    over ``x[x_q]`` and ``y[y_q]``, where y is the result of reading, or the values to store.
    """
    picked = range(plan.array_ndim)
    lines = [
        f"{p}_q = " + (" + ".join(f"j{d} * {p}_s{d}" for d in picked) or "0")
        for p in map("p{}".format, range(len(arrays)))
    ]
    for k in range(len(arrays)):
        lines += [f"a{k} = position(i8(p{k}[p{k}_q]), m{k})", f"if a{k} < 0:", f"    return {INDEX}"]
    lines.append("x_j = " + " + ".join(f"a{k} * t{k}" for k in range(len(arrays))))
    other_dims = range(others)
    inner = ["x_q = x_j" + "".join(f" + d{d} * s{d}" for d in other_dims)]
    if y is not None:
        names = [
            *(f"d{d}" for d in range(plan.place)),
            *(f"j{d}" for d in picked),
            *(f"d{d}" for d in range(plan.place, others)),
        ]
        terms = [f"{i} * {y.stride(d)}" for d, i in enumerate(names) if not y.still[d]]
        inner.append("y_q = " + (" + ".join(terms) or "0"))
    lines += nest(others, [], [*inner, *body])
    for d in reversed(picked):
        lines = [f"for j{d} in range(k{d}):", *indented(lines)]
    lines.append("return 0")
    params = [*((f"k{d}", "i8") for d in picked), *lengths(others)]
    for k, array in enumerate(arrays):
        params += [
            (f"p{k}", f"*{array.memory}"),
            *((f"p{k}_s{d}", "i8") for d in picked),
            (f"m{k}", "i8"),
            (f"t{k}", "i8"),
        ]
    params += [("x", f"*{storage.memory}"), *((f"s{d}", "i8") for d in other_dims)]
    params += y.params() if y is not None else [("y_x", storage.code)]
    return make_kernel("pick", params, lines, LIBRARY.used_by("\n".join(lines)))


class _Picked:
    """An index with arrays: the lengths of what it picks, and the arguments of the kernel that visits it."""

    def __init__(
        self, writer: GraphWriter, part: ArrayValue, entries: Sequence[Entry], arrays: Sequence[TensorVariable]
    ) -> None:
        positions = [writer.in_memory(v) for v in arrays]
        self.plan = gather_plan(entries, [v.type.ndim for v in arrays])
        self.storages = [p.storage for p in positions]
        ndim = self.plan.array_ndim
        positions = [padded(p, ndim) if ndim else p for p in positions]
        for var, d in zip(arrays, self.plan.indexed, strict=True):
            # NumPy checks scalar positions even where nothing is picked.
            if ndim and getattr(var.type, "ndim", 1) == 0:
                writer.stop_if(f"position({writer.scalar(var, 'int64')}, {part.dims[d]}) < 0", INDEX)
        self.picked = writer.broadcast_dims([p.dims for p in positions], [None] * ndim) if ndim else ()
        self.rest = [d for d in range(part.ndim) if d not in self.plan.indexed]
        other_lengths = [part.dims[d] for d in self.rest]
        place = self.plan.place
        self.dims = (*other_lengths[:place], *self.picked, *other_lengths[place:])
        arguments = [*self.picked, *other_lengths]
        for p, d in zip(positions, self.plan.indexed, strict=True):
            strides = writer.strides_in(p, self.picked) if ndim else ()
            arguments += [f"as_{p.storage.memory}({p.address})", *strides, part.dims[d], part.strides[d]]
        self.arguments = [
            *arguments,
            f"as_{part.storage.memory}({part.address})",
            *(part.strides[d] for d in self.rest),
        ]

    def run(self, writer: GraphWriter, part: ArrayValue, body: Sequence[str], y: Value) -> None:
        """Write a call of the kernel."""
        if isinstance(y, ScalarValue):
            unit = picking(self.plan, self.storages, len(self.rest), body, None, part.storage)
            writer.call(unit, [*self.arguments, y.text], checked=True)
            return
        still = tuple(n == "1" and m != "1" for n, m in zip(y.dims, self.dims, strict=True))
        array = Array("y", y.storage, still)
        strides = writer.strides_in(y, self.dims)
        unit = picking(self.plan, self.storages, len(self.rest), body, array, part.storage)
        writer.call(unit, [*self.arguments, *array.arguments(y.address, strides)], checked=True)


@TABLE.register(AdvancedSubtensor)
def lower_advanced_subtensor(op: AdvancedSubtensor, node: TensorNode, writer: GraphWriter) -> None:
    """Read every picked element."""
    x, *parts = node.inputs
    (out,) = node.outputs
    part, arrays = _basic(writer, node, writer.array(x), parts)
    picked = _Picked(writer, part, op.entries, arrays)
    kind = out.type
    body = ["y[y_q] = x[x_q]"]
    if kind.ndim:
        picked.run(writer, part, body, writer.new_output(out, picked.dims))
        return
    cell = writer.allocate(["1"], part.storage)
    picked.run(writer, part, body, ArrayValue(cell.address, (), (), part.storage, cell.slots))
    writer.bind_scalar(out, part.storage.loaded(f"as_{part.storage.memory}({cell.address})[0]"))


@TABLE.register(AdvancedIncSubtensor)
def lower_advanced_inc_subtensor(op: AdvancedIncSubtensor, node: TensorNode, writer: GraphWriter) -> None:
    """Change every picked element in a copy; a repeated position is changed each time."""
    _, y, *parts = node.inputs
    values = writer.value(y)
    copy = _fresh(writer, node)
    part, arrays = _basic(writer, node, copy, parts)
    picked = _Picked(writer, part, op.entries, arrays)
    storage = part.storage
    values = writer.fitted(values, picked.dims) if picked.dims else values
    new = "y_x" if isinstance(values, ScalarValue) else storage.loaded("y[y_q]")
    body = [f"new = {new}", "x[x_q] = " + storage.stored(_changed(op, storage, f"({storage.loaded('x[x_q]')})", "new"))]
    picked.run(writer, part, body, values)
