"""The site that rules for all backends write to, in C: calls of kernels of `treadle.kernels`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from treadle.kernels import (
    BY_NUMPY,
    Comparison,
    Given,
    Length,
    Site,
    Status,
    bits_of,
    overwritten_inputs,
)
from treadle.link.c.capsules import ExternalPointer
from treadle.link.c.conventions.dtypes import CTYPES, CType, ctype, loaded
from treadle.link.c.conventions.lapack import routine_pointer
from treadle.link.c.runtime.kernels import KERNELS

if TYPE_CHECKING:
    from treadle.graph import Apply, Variable
    from treadle.kernels import Axis, External, Routine, Specialised
    from treadle.link.c.text.unit import Unit


def _stored(dtype: str) -> str:
    from treadle.kernels import stored_type

    return stored_type(dtype)


class CSite(Site):
    """Writes kernels of a node into a `Unit`."""

    def __init__(self, node: Apply, unit: Unit) -> None:
        self.node = node
        self.unit = unit
        self._count = 0

    def _given(self, at: int, kind: CType, dtype: str, rank: int) -> Given:
        lengths = tuple(Length(f"v[{at}].n[{d}]") for d in range(rank)) or (Length("1"),)
        strides = tuple(Length(f"v[{at}].s[{d}] / {kind.size}") for d in range(rank)) or (Length("1"),)
        return Given(dtype, max(rank, 1), f"({_stored(dtype)} *)v[{at}].p", lengths, strides)

    def _of(self, x: Variable, at: int) -> Given:
        dtype: str = x.type.dtype  # type: ignore[attr-defined]  # a tensor
        return self._given(at, CTYPES[dtype], dtype, x.type.ndim)  # type: ignore[attr-defined]  # a tensor

    def array(self, x: Variable) -> Given:
        """Return a variable of rank 1 or more."""
        return self._of(x, self.unit.slot(x))

    def packed(self, x: Variable) -> Given:
        """Return a variable in C order."""
        rank: int = x.type.ndim  # type: ignore[attr-defined]  # a tensor
        return self._of(x, self.unit.packed(x) if rank else self.unit.slot(x))  # type: ignore[arg-type]  # a tensor

    def bits(self, given: Given) -> Given:
        """Return an array whose elements are read as unsigned integers."""
        dtype, strides = bits_of(given)
        return replace(given, dtype=dtype, text=f"({_stored(dtype)} *){given.text}", strides=strides)

    def integer(self, x: Variable) -> Length:
        """Return the value of an integer."""
        return self._named(self.unit.integer(x))  # type: ignore[arg-type]  # a tensor

    def number(self, x: Variable) -> Given:
        """Return a number."""
        kind = CTYPES[x.type.dtype]  # type: ignore[attr-defined]  # a tensor
        place = loaded(x.type.dtype, f"*({kind.stored} *)v[{self.unit.slot(x)}].p")  # type: ignore[attr-defined]
        return Given(x.type.dtype, 0, place)  # type: ignore[attr-defined]  # a tensor

    def layout(self, x: Variable) -> tuple[Sequence[Length], Sequence[Length]]:
        """Return lengths, and steps in bytes."""
        at, rank = self.unit.slot(x), x.type.ndim  # type: ignore[attr-defined]  # a tensor
        return [Length(f"v[{at}].n[{d}]") for d in range(rank)], [Length(f"v[{at}].s[{d}]") for d in range(rank)]

    def view(self, out: Variable, x: Variable, axes: Sequence[Axis], shift: Length | None = None) -> None:
        """Make a result a view of an operand."""
        self.view_at(self.unit.views(out, x), self.unit.slot(x), axes, shift)

    def view_at(self, o: int, source: int, axes: Sequence[Axis], shift: Length | None) -> None:
        """Make the array at a position a view of another one."""
        self.unit.line(f"v[{o}].p = v[{source}].p{'' if shift is None else f' + {shift}'};")
        for at, axis in enumerate(axes):
            n, s = "1", "0"
            if isinstance(axis, int):
                n, s = f"v[{source}].n[{axis}]", f"v[{source}].s[{axis}]"
            elif axis is not None:
                n, s = str(axis[0]), f"{axis[0]} > 1 ? {axis[1]} : 0"
            self.unit.line(f"v[{o}].n[{at}] = {n}; v[{o}].s[{at}] = {s};")

    def copy(self, out: Variable, x: Variable) -> None:
        """Copy an operand, or hand over its block."""
        source, o, kind = self.unit.slot(x), self.unit.owns(out), ctype(x)  # type: ignore[arg-type]  # a tensor
        # What the op may overwrite is another's block only where nothing needs it after.
        ends = self._is_dying(x) or self.node.inputs.index(x) in overwritten_inputs(self.node)
        copy = "tr_adopt" if ends else "tr_copy"
        self.unit.call(f"{copy}(v + {o}, v + {source}, {x.type.ndim}, {kind.size}, tr_move{kind.size})")  # type: ignore[attr-defined]

    def choose(self, condition: Comparison, first: Length, second: Length) -> Length:
        """Return one of two integers."""
        return self._named(f"{condition.text} ? {first} : {second}")

    def position(self, at: Length, n: Length) -> Length:
        """Return a position."""
        return self._named(f"tr_position({at}, {n})")

    def span(self, n: Length, start: Length, stop: Length, step: Length, present: int) -> tuple[Length, Length]:
        """Return the first position and the length of a slice."""
        count = Length(f"n{self.unit.number}_{self._count}")
        self.unit.line(f"int64_t {count};")
        bounds = (f"INT64_C({b})" if b.value is not None else str(b) for b in (start, stop, step))
        return self._named(f"tr_span({n}, {present}, {', '.join(bounds)}, &{count})"), count

    def write_lengths(self, out: Variable, lengths: Sequence[Length]) -> None:
        """Make a result of integers."""
        result = self.output(out, [Length(str(len(lengths)))] * out.type.ndim)  # type: ignore[attr-defined]  # a tensor
        for d, n in enumerate(lengths):
            self.unit.line(f"({result.text})[{d}] = {n};")

    def fill(
        self,
        out: Variable,
        x: Variable,
        part: tuple[Sequence[Axis], Length | None] | None = None,
        *,
        adds: bool = False,
    ) -> None:
        """Copy or add an operand to a result, or to a view of it."""
        o, source, kind = self.unit.slot(out), self.unit.slot(x), ctype(x)  # type: ignore[arg-type]  # tensors
        rank, own = (var.type.ndim for var in (out, x))  # type: ignore[attr-defined]  # tensors
        if part is not None:
            o, rank = self.unit.scratch(), len(part[0])
            self.view_at(o, self.unit.slot(out), *part)
        kernel = f"tr_add_{kind.short}" if adds else f"tr_move{kind.size}"
        self.unit.call(f"tr_transfer(v + {o}, {rank}, v + {source}, {own}, {kind.size}, {kernel})")

    def _named(self, text: str) -> Length:
        self._count += 1
        name = f"k{self.unit.number}_{self._count}"
        self.unit.line(f"const int64_t {name} = {text};")
        return Length(name)

    def output(self, out: Variable, lengths: Sequence[Length | int]) -> Given:
        """Return a result, made here."""
        return self._made(self.unit.owns(out), out.type.dtype, lengths)  # type: ignore[attr-defined]  # a tensor

    def _made(self, at: int, dtype: str, lengths: Sequence[Length | int], over: int | None = None) -> Given:
        kind, rank = CTYPES[dtype], len(lengths)
        for d, n in enumerate(lengths):
            self.unit.line(f"v[{at}].n[{d}] = {n};")
        taken = ""
        if over is not None:
            bases = self.unit.bases(at)
            how, end = ("tr_overlay", f", {self._fixed(over)}") if over in bases else ("tr_overwrite", "")
            taken = f"{how}(v + {at}, v + {over}, {rank}, {kind.size}{end}) ? 0 : "
        self.unit.call(f"{taken}tr_alloc(v + {at}, {rank}, {kind.size})")
        return self._given(at, kind, dtype, rank)

    def spare(self, x: Variable) -> Length:
        """Return 1 where an operand has a block that nothing needs after, or may be overwritten whoever owns it."""
        at = self.unit.slot(x)
        if self.is_overwritten(x):
            return Length(f"!({self._fixed(at)})")
        return Length(f"(v[{at}].own != 0)") if self._is_dying(x) else Length("0")

    def note_overwriting(self) -> None:
        """Note that the program overwrites arguments."""
        self.unit.root.overwrites = True

    def _fixed(self, at: int) -> str:
        """Return the condition that an array is, or shows, an argument that is read-only."""
        return " || ".join(f"v[{k}].fixed" for k in sorted({at, *self.unit.bases(at)}))

    def _is_dying(self, x: Variable) -> bool:
        return self.node.inputs.count(x) == 1 and self.unit.dying(x, self.node.inputs)

    def output_over(self, out: Variable, lengths: Sequence[Length | int], x: Variable) -> tuple[Given, Length]:
        """Return a result, in the block of an operand if that is as large and nothing needs it after."""
        at = self.unit.slot(x)
        if self.is_overwritten(x):
            self.unit.views(out, x)
        elif not self._is_dying(x):
            return self.output(out, lengths), Length("0")
        over = self.unit.owns(out)
        return self._made(over, out.type.dtype, lengths, at), Length(f"(v[{over}].p == v[{at}].p)")  # type: ignore[attr-defined]  # a tensor

    def room(self, dtype: str, count: Length | int) -> Given:
        """Return working memory."""
        at = self.unit.scratch()
        self.unit.call(f"tr_room(v + {at}, {count}, {CTYPES[dtype].size})")
        return Given(dtype, -1, f"({_stored(dtype)} *)v[{at}].p")

    def stop_if(self, condition: Comparison, status: Status = Status.SHAPE) -> None:
        """Write that the program ends where a condition holds."""
        self.unit.call(f"({condition.text}) ? TR_{'LENGTH' if status is Status.VALUE else status.name} : 0")

    def write(self, version: Specialised, arguments: Sequence[str], keeps: bool) -> Length | None:
        """Write a call."""
        name = KERNELS.add(version)
        self.unit.calls(name)
        routines = [self._routine(routine) for routine in version.routines]
        externals = [self._external(each) for each in version.externals]
        text = f"{name}({', '.join([*arguments, *routines, *externals])})"
        if keeps:
            return self._named(text)
        self.unit.call(text)
        return None

    def _external(self, each: External) -> str:
        """Return the address of what a kernel uses that is compiled elsewhere."""
        source = each.source
        return self.unit.pointer(f"tr_at_{each.name}", ExternalPointer(source.module, source.name, "", source))

    def _routine(self, routine: Routine) -> str:
        """Return the address of a routine of a library."""
        if routine.library == "numpy":
            place = BY_NUMPY.index(routine.name.removeprefix("sort_"))
            return f"tr_function({self.unit.sorts()}, {place})"
        return self.unit.pointer(*routine_pointer(routine))
