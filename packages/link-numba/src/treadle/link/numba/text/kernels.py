"""Kernels of `treadle.kernels` as units, and the site that rules for all backends write to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from treadle.kernels import (
    Comparison,
    Given,
    Length,
    Site,
    Specialised,
    Status,
    bits_of,
    external_name,
    memory_code,
    numba_lines,
    numba_name,
    value_code,
    value_kind,
)
from treadle.link.numba.dtypes import STORAGES
from treadle.link.numba.status import MEMORY
from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.reducing import combined
from treadle.link.numba.text.unit import Unit, apart, make_kernel
from treadle.link.numba.text.values import ArrayValue, ScalarValue, padded, product

if TYPE_CHECKING:
    from treadle.graph import Apply, Variable
    from treadle.kernels import Axis
    from treadle.link.numba.text.writer import GraphWriter

# Kernels of so many lines, with those of what they call, are compiled once for all programs.
_LONG = 80


@cache
def unit_of(kernel: Specialised) -> Unit:
    """Return the unit of a kernel."""
    # A compact one does not become a part of callers whose loops are unrolled.
    units = {called: (_called_by_programs if called.compact else unit_of)(called) for called in kernel.kernels}
    lines = numba_lines(kernel, lambda called: units[called].name)
    uses = [*units.values(), *LIBRARY.used_by("\n".join(lines))]
    params = [(numba_name(p.name), value_code(p.kind)) for p in kernel.parameters]
    params += [(external_name(each), "i8") for each in kernel.externals]
    unit = make_kernel(f"kernel_{kernel.name}", params, lines, uses, is_inlined=kernel.inline)
    LIBRARY.keep(unit)
    return unit


@cache
def _called_by_programs(kernel: Specialised) -> Unit:
    """Return the unit of a kernel that programs call: a long one is apart, which costs a call 10 nanoseconds more."""
    unit = unit_of(kernel)
    lines = sum(each.source.count("\n") for each in unit.with_uses())
    return apart(unit, is_compact=kernel.compact) if unit.is_kernel and lines >= _LONG else unit


class NumbaSite(Site):
    """Writes kernels of a node with a `GraphWriter`."""

    def __init__(self, node: Apply, writer: GraphWriter) -> None:
        self.node = node
        self.writer = writer
        self._numbers: list[tuple[Variable, ArrayValue]] = []
        # Names of lengths by others that are equal to them.
        self._equal: dict[str, str] = {}

    @staticmethod
    def _given(value: ArrayValue) -> Given:
        return Given(
            value.storage.dtype,
            value.ndim,
            f"as_{value.storage.memory}({value.address})",
            tuple(map(Length, value.dims)),
            tuple(map(Length, value.strides)),
        )

    def array(self, x: Variable) -> Given:
        """Return a variable of rank 1 or more."""
        return self._given(self.writer.array(x))

    def packed(self, x: Variable) -> Given:
        """Return a variable in C order."""
        value = self.writer.in_memory(x)
        return self._given(self.writer.packed(value) if value.ndim else padded(value, 1))

    def bits(self, given: Given) -> Given:
        """Return an array whose elements are read as unsigned integers."""
        dtype, strides = bits_of(given)
        address = given.text.removeprefix(f"as_{memory_code(given.dtype)}(")
        return replace(given, dtype=dtype, text=f"as_{memory_code(dtype)}({address}", strides=strides)

    def integer(self, x: Variable) -> Length:
        """Return the value of an integer."""
        return Length(self.writer.let(self.writer.scalar(x, "int64"), "n"))

    def number(self, x: Variable) -> Given:
        """Return a number."""
        storage, kind = self.writer.storage(x), value_kind(self.writer.storage(x).dtype)
        text = self.writer.scalar(x)
        return Given(storage.dtype, 0, text if storage.code == value_code(kind) else f"{value_code(kind)}({text})")

    def layout(self, x: Variable) -> tuple[Sequence[Length], Sequence[Length]]:
        """Return lengths, and steps in elements."""
        value = self.writer.value(x)
        if isinstance(value, ScalarValue):
            return [], []
        return [*map(Length, value.dims)], [*map(Length, value.strides)]

    def view(self, out: Variable, x: Variable, axes: Sequence[Axis], shift: Length | None = None) -> None:
        """Make a result a view of an operand; a number is no place in memory."""
        writer, value = self.writer, self.writer.value(x)
        if isinstance(value, ScalarValue):
            (writer.bind_number if axes else writer.bind)(out, value)
            return
        part = self.part(value, axes, shift)
        if axes:
            writer.bind(out, replace(part, dims=writer.known_dims(out, part.dims)))
        else:
            writer.bind_scalar(out, part.storage.first(part.address))

    def part(self, value: ArrayValue, axes: Sequence[Axis], shift: Length | None) -> ArrayValue:
        """Return a view of an array."""
        writer, address = self.writer, value.address
        if shift is not None:
            address = writer.let(f"{address} + {value.storage.itemsize} * {shift}")
        pairs = [
            ("1", "0")
            if axis is None
            else (value.dims[axis], value.strides[axis])
            if isinstance(axis, int)
            else (str(axis[0]), writer.let(str(axis[1]), "s"))
            for axis in axes
        ]
        dims, strides = tuple(n for n, _ in pairs), tuple(s for _, s in pairs)
        kept = [axis for axis in axes if axis is not None]
        # It is where nothing is moved, and all that is left out has one element.
        is_packed = value.packed and shift is None and kept == sorted(d for d in kept if isinstance(d, int))
        is_packed = is_packed and all(n == "1" for d, n in enumerate(value.dims) if d not in kept)
        if is_packed and kept != list(axes):
            strides = writer.packed_strides(dims)
        certain = value.certain and shift is None
        return replace(value, address=address, dims=dims, strides=strides, packed=is_packed, certain=certain)

    def copy(self, out: Variable, x: Variable) -> None:
        """Copy an array, unless nothing needs it after; a number needs no copy."""
        value = self.writer.value(x)
        if isinstance(value, ScalarValue) or (self.node.inputs.count(x) == 1 and self.writer.may_overwrite(x)):
            self.writer.bind(out, value)
        else:
            self.writer.copy_into(self.writer.new_output(out, value.dims), value)

    def choose(self, condition: Comparison, first: Length, second: Length) -> Length:
        """Return one of two integers."""
        return Length(self.writer.let(f"{first} if {condition.text} else {second}", "n"))

    def position(self, at: Length, n: Length) -> Length:
        """Return a position."""
        return Length(self.writer.let(f"position({at}, {n})", "r"))

    def span(self, n: Length, start: Length, stop: Length, step: Length, present: int) -> tuple[Length, Length]:
        """Return the first position and the length of a slice."""
        first, count = self.writer.name("r"), self.writer.name("n")
        self.writer.add(f"{first}, {count} = span({n}, {start}, {stop}, {step}, {present})")
        return Length(first), Length(count)

    def write_lengths(self, out: Variable, lengths: Sequence[Length]) -> None:
        """Make a result of integers; a single one is no place in memory."""
        if not out.type.ndim:  # type: ignore[attr-defined]  # a tensor
            self.writer.bind_scalar(out, str(lengths[0]))
            return
        result = self.writer.new_output(out, [str(len(lengths))])
        self.writer.add(*(f"as_i8({result.address})[{d}] = {n}" for d, n in enumerate(lengths)))

    def fill(
        self,
        out: Variable,
        x: Variable,
        part: tuple[Sequence[Axis], Length | None] | None = None,
        *,
        adds: bool = False,
    ) -> None:
        """Copy or add an operand to a result, or to a view of it; a number has no places."""
        writer, result = self.writer, self.writer.value(out)
        storage = result.storage

        def changed(old: str, new: str) -> str:
            return combined("sum", storage, old, new) if adds else new

        if isinstance(result, ScalarValue):
            writer.bind_scalar(out, f"({changed(result.text, writer.scalar(x))})")
            return
        target = result if part is None else self.part(result, *part)
        if not target.ndim:
            new = changed(f"({storage.first(target.address)})", writer.scalar(x))
            writer.put(target, writer.let(new, code=storage.code))
            return
        source = writer.fitted(writer.value(x), target.dims)
        if adds:
            last = target.ndim - 1
            element = storage.loaded(f"o[o_q + d{last} * o_s{last}]")
            writer.run_elementwise("inc", [("x", source)], [("o", target)], [f"o_x = {changed(element, 'x_x')}"])
        else:
            writer.copy_into(target, source)

    def output(self, out: Variable, lengths: Sequence[Length | int]) -> Given:
        """Return a result, made here."""
        if lengths:
            return self._given(self.writer.new_output(out, [self.writer.let(str(n), "n") for n in lengths]))
        value = self.writer.allocate(["1"], self.writer.storage(out))
        self._numbers.append((out, value))
        return self._given(value)

    def note_overwriting(self) -> None:
        """Note that the program overwrites arguments."""
        self.writer.overwrites = True

    def spare(self, x: Variable) -> Length:
        """Return 1 where an operand fills a buffer that nothing needs after, or may be overwritten wherever it is."""
        if self.is_overwritten(x):
            return Length("1")
        return Length(str(int(self.node.inputs.count(x) == 1 and self.writer.may_overwrite(x))))

    def output_over(self, out: Variable, lengths: Sequence[Length | int], x: Variable) -> tuple[Given, Length]:
        """Return a result, in the memory of an operand of its shape in C order that may be overwritten."""
        writer, value = self.writer, self.writer.array(x)
        dims = [writer.let(str(n), "n") for n in lengths]
        if out not in writer.places and self.is_overwritten(x):
            return self._chosen(out, writer.known_dims(out, dims), value)
        known = [self._equal.get(n, n) for n in dims] == [self._equal.get(n, n) for n in value.dims]
        if out in writer.places or not known or self.node.inputs.count(x) != 1 or not writer.may_overwrite(x):
            return self.output(out, lengths), Length("0")
        writer.bind(out, value)
        return self._given(value), Length("1")

    def _chosen(self, out: Variable, dims: Sequence[str], value: ArrayValue) -> tuple[Given, Length]:
        """Return a result in an operand's memory, where its shape is that and it lies in C order, or in a buffer."""
        writer, strides = self.writer, self.writer.packed_strides(dims)
        conditions = [f"{n} == {m}" for n, m in zip(dims, value.dims, strict=True) if n != m]
        conditions += [f"({n} == 1 or {s} == {t})" for n, s, t in zip(dims, value.strides, strides, strict=True)]
        taken = writer.let(f"1 if {' and '.join(conditions)} else 0", "taken")
        slot = writer.scratch(1)
        size = writer.let(f"{product([*dims, str(value.storage.itemsize)])} * (1 - {taken})", "size")
        fresh = writer.let(f"new(frame, {slot}, {size})")
        writer.stop_if(f"{fresh} == 0", MEMORY)
        address = writer.let(f"{value.address} if {taken} == 1 else {fresh}")
        slots = (slot, *value.slots)
        made = ArrayValue(address, tuple(dims), strides, value.storage, slots, packed=True, certain=False)
        writer.bind(out, made)
        return self._given(made), Length(taken)

    def same(self, first: Length, second: Length | int, status: Status = Status.SHAPE) -> None:
        """Write that the node fails where two lengths differ, and remember that they do not."""
        super().same(first, second, status)
        self._equal[str(first)] = self._equal.get(str(second), str(second))

    def room(self, dtype: str, count: Length | int) -> Given:
        """Return working memory."""
        value = self.writer.allocate([self.writer.let(str(count), "n")], STORAGES[dtype])
        return Given(dtype, -1, f"as_{memory_code(dtype)}({value.address})")

    def stop_if(self, condition: Comparison, status: Status = Status.SHAPE) -> None:
        """Write that the program stops where a condition holds."""
        self.writer.stop_if(condition.text, int(status))

    def write(self, version: Specialised, arguments: Sequence[str], keeps: bool) -> Length | None:
        """Write a call."""
        unit = _called_by_programs(version)
        arguments = [*arguments, *(self.writer.pointer(each.source) for each in version.externals)]
        if not keeps:
            self.writer.call(unit, arguments, checked=True)
            return None
        self.writer.units[unit.name] = unit
        return Length(self.writer.let(f"{unit.name}({', '.join(arguments)})", "n"))

    def close(self) -> None:
        """Read results of rank 0."""
        for out, value in self._numbers:
            self.writer.bind_scalar(out, value.storage.first(value.address))
