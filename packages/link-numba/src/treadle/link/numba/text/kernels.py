"""Kernels of `treadle.kernels` as units, and the site that rules for all backends write to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from treadle.kernels import (
    Comparison,
    Given,
    Length,
    Site,
    Specialised,
    Status,
    external_name,
    memory_code,
    numba_lines,
    numba_name,
    value_code,
    value_kind,
)
from treadle.link.numba.dtypes import STORAGES
from treadle.link.numba.text.library import LIBRARY
from treadle.link.numba.text.unit import Unit, make_kernel
from treadle.link.numba.text.values import ArrayValue, ScalarValue

if TYPE_CHECKING:
    from treadle.graph import Apply, Variable
    from treadle.link.numba.text.writer import GraphWriter


class _Units:
    """The units of kernels, each made once."""

    def __init__(self) -> None:
        self._known: dict[Specialised, Unit] = {}

    def get(self, kernel: Specialised) -> Unit:
        """Return the unit of a kernel."""
        unit = self._known.get(kernel)
        if unit is None:
            lines = numba_lines(kernel, lambda called: self.get(called).name)
            uses = [*map(self.get, kernel.kernels), *LIBRARY.used_by("\n".join(lines))]
            params = [(numba_name(p.name), value_code(p.kind)) for p in kernel.parameters]
            params += [(external_name(each), "i8") for each in kernel.externals]
            unit = self._known[kernel] = make_kernel(
                f"kernel_{kernel.name}", params, lines, uses, is_inlined=kernel.inline
            )
            LIBRARY.keep(unit)
        return unit


UNITS = _Units()


class NumbaSite(Site):
    """Writes kernels of a node with a `GraphWriter`."""

    def __init__(self, node: Apply, writer: GraphWriter) -> None:
        self.node = node
        self.writer = writer
        self._numbers: list[tuple[Variable, ArrayValue]] = []

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
        value = self.writer.value(x)
        if not isinstance(value, ScalarValue):
            return self._given(self.writer.packed(value))
        room = self.writer.allocate(["1"], value.storage)
        pointer = f"as_{value.storage.memory}({room.address})"
        self.writer.add(f"{pointer}[0] = {value.storage.stored(value.text)}")
        return self._given(room)

    def bits(self, given: Given) -> Given:
        """Return an array whose elements are read as unsigned integers."""
        dtype = f"uint{8 * STORAGES[given.dtype].itemsize}"
        address = given.text.removeprefix(f"as_{memory_code(given.dtype)}(")
        return replace(given, dtype=dtype, text=f"as_{memory_code(dtype)}({address}")

    def integer(self, x: Variable) -> Length:
        """Return the value of an integer."""
        return Length(self.writer.let(self.writer.scalar(x, "int64"), "n"))

    def number(self, x: Variable) -> Given:
        """Return a number."""
        storage, kind = self.writer.storage(x), value_kind(self.writer.storage(x).dtype)
        text = self.writer.scalar(x)
        return Given(storage.dtype, 0, text if storage.code == value_code(kind) else f"{value_code(kind)}({text})")

    def output(self, out: Variable, lengths: Sequence[Length | int]) -> Given:
        """Return a result, made here."""
        if lengths:
            return self._given(self.writer.new_output(out, [self.writer.let(str(n), "n") for n in lengths]))
        value = self.writer.allocate(["1"], self.writer.storage(out))
        self._numbers.append((out, value))
        return self._given(value)

    def room(self, dtype: str, count: Length | int) -> Given:
        """Return working memory."""
        value = self.writer.allocate([self.writer.let(str(count), "n")], STORAGES[dtype])
        return Given(dtype, -1, f"as_{memory_code(dtype)}({value.address})")

    def stop_if(self, condition: Comparison, status: Status = Status.SHAPE) -> None:
        """Write that the program stops where a condition holds."""
        self.writer.stop_if(condition.text, int(status))

    def write(self, version: Specialised, arguments: Sequence[str], keeps: bool) -> Length | None:
        """Write a call."""
        unit = UNITS.get(version)
        arguments = [*arguments, *(self.writer.pointer(each.source) for each in version.externals)]
        if not keeps:
            self.writer.call(unit, arguments, checked=True)
            return None
        self.writer.units[unit.name] = unit
        return Length(self.writer.let(f"{unit.name}({', '.join(arguments)})", "n"))

    def close(self) -> None:
        """Read results of rank 0."""
        for out, value in self._numbers:
            text = f"as_{value.storage.memory}({value.address})[0]"
            self.writer.bind_scalar(out, value.storage.loaded(text))
