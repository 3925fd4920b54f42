"""Indexing: slices and single positions as views, writing into such views, and what arrays of positions pick."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from treadle.kernels import TABLE, Given, Length, Site
from treadle.kernels.blocks import common_length
from treadle.kernels.language import INDEX
from treadle.tensor.indexing.expressions import Positions, gather_plan, symbolic_count
from treadle.tensor.indexing.indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor
from treadle.tensor.linking.basic_parts import basic_part
from treadle.tensor.lower_kernels.indexing.picking import Picking, picking

if TYPE_CHECKING:
    from treadle.tensor.indexing.expressions import Entry
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

_ZERO, _ONE = Length("0"), Length("1")


@TABLE.register(Subtensor)
def lower_subtensor(op: Subtensor, node: TensorNode, site: Site) -> None:
    """Make the view."""
    x, *bounds = node.inputs
    axes, shift = basic_part(site, site.layout(x), op.entries, iter(bounds))
    site.view(node.outputs[0], x, [axis for _, axis in axes], shift)


@TABLE.register(IncSubtensor)
def lower_inc_subtensor(op: IncSubtensor, node: TensorNode, site: Site) -> None:
    """Copy the tensor, unless nothing needs it after, and write the values to a view of the copy."""
    x, y, *bounds = node.inputs
    (out,) = node.outputs
    site.copy(out, x)
    axes, shift = basic_part(site, site.layout(out), op.entries, iter(bounds))
    site.fill(out, y, ([axis for _, axis in axes], shift), adds=not op.set)


class _Picked:
    """What arrays pick of a tensor: its lengths, and the arguments of the kernel that walks through it."""

    def __init__(self, site: Site, x: Given, entries: Sequence[Entry], parts: Sequence[TensorVariable]) -> None:
        self.site = site
        self._x = x
        arrays: list[TensorVariable] = []
        bounds: list[TensorVariable] = []
        inputs = iter(parts)
        for entry in entries:
            (arrays if isinstance(entry, Positions) else bounds).extend(islice(inputs, symbolic_count([entry])))
        axes, shift = basic_part(site, (x.shape, x.strides), entries, iter(bounds))
        self._plan = plan = gather_plan(entries, [v.type.ndim for v in arrays])
        positions = [site.array(v) if v.type.ndim else site.packed(v) for v in arrays]
        for v, d in zip(arrays, plan.indexed, strict=True):
            # NumPy checks single positions even where nothing is picked.
            if plan.array_ndim and not v.type.ndim:
                site.stop_if(site.position(site.integer(v), x.shape[d]) < 0, INDEX)
        # Arrays of rank 0 alone pick as one of one element does.
        self._counts = [self._count(arrays, positions, d) for d in range(plan.array_ndim)] or [_ONE]
        self._lengths: list[Length] = []
        self._steps: list[Length] = []
        for entry, axis in axes:
            if not isinstance(entry, Positions):
                n, step = (x.shape[axis], x.strides[axis]) if isinstance(axis, int) else axis or (_ONE, _ZERO)
                self._lengths.append(n)
                self._steps.append(step)
        self._arguments: list[Given | Length] = []
        for v, given, d in zip(arrays, positions, plan.indexed, strict=True):
            strides = self._spread(v, given, self._counts)
            self._arguments += [given.pointer, *strides, x.shape[d], x.strides[d]]
        self._arguments += [*self._counts, *self._lengths, shift or _ZERO, *self._steps]
        self._arrays = len(arrays)

    @property
    def lengths(self) -> list[Length]:
        """The lengths of what is picked."""
        place = self._plan.place
        return [*self._lengths[:place], *self._counts[: self._plan.array_ndim], *self._lengths[place:]]

    def strides_of(self, y: TensorVariable, values: Given) -> list[Length]:
        """Return the strides of values that are broadcast to what is picked, which they have to fit."""
        return self._spread(y, values, self.lengths)

    def _count(self, arrays: Sequence[TensorVariable], positions: Sequence[Given], d: int) -> Length:
        """Return the length that arrays broadcast to along one of their dimensions."""
        count = _ONE
        for v, given in zip(arrays, positions, strict=True):
            e = d - self._plan.array_ndim + v.type.ndim
            if e < 0 or v.type.shape[e] == 1:
                continue
            n = given.shape[e]
            if count.text == "1":
                count = n
            elif count.text != n.text:
                count = self.site.compute(common_length, count, n)
                self.site.stop_if(count < 0, INDEX)
        return count

    def _spread(self, x: TensorVariable, given: Given, lengths: Sequence[Length]) -> list[Length]:
        """Return an array's strides where it is broadcast to lengths, which it has to fit."""
        strides = [_ZERO] * (len(lengths) - x.type.ndim)
        for known, n, m, stride in zip(x.type.shape, given.shape, lengths[len(strides) :], given.strides, strict=False):
            if known == 1:
                strides.append(_ZERO)
            elif n.text == m.text:
                strides.append(stride)
            else:
                self.site.same(self.site.choose(n.differs(m), n, _ONE), _ONE)
                strides.append(self.site.choose(n.differs(m), _ZERO, stride))
        return strides

    def walk(self, statement: str, values: Given, strides: Sequence[Length] = (), *, reads: bool = False) -> None:
        """Write the call of the kernel, with values or a number; `strides` are theirs along the `lengths`."""
        how = Picking(statement, reads, self._arrays, len(self._counts), len(self._lengths), bool(values.rank))
        arguments = [*self._arguments]
        arguments.insert(len(arguments) - 1 - len(self._steps), self._x.pointer)
        if values.rank:
            place, ndim = self._plan.place, self._plan.array_ndim
            arguments += [values.pointer, *(strides[place : place + ndim] or [_ZERO])]
            arguments += [*strides[:place], *strides[place + ndim :]]
        else:
            arguments.append(values)
        self.site.run(picking(how), *arguments)


def _moved(to: str, place: str, x: TensorVariable) -> str:
    """Return the statement that moves the bits of an element, which are two integers of complex128."""
    if x.type.dtype != "complex128":
        return f"{to} = {place}"
    to, place = (text.replace("}", "} + g") for text in (to, place))
    return f"for g in independent(range(2)): {to} = {place}"


@TABLE.register(AdvancedSubtensor)
def lower_advanced_subtensor(op: AdvancedSubtensor, node: TensorNode, site: Site) -> None:
    """Read every element that is picked."""
    x, *parts = node.inputs
    (out,) = node.outputs
    picked = _Picked(site, site.bits(site.array(x)), op.entries, parts)
    result = site.bits(site.output(out, picked.lengths))
    picked.walk(_moved("target[{b}]", "source[{a}]", x), result, result.strides[: out.type.ndim], reads=True)


@TABLE.register(AdvancedIncSubtensor)
def lower_advanced_inc_subtensor(op: AdvancedIncSubtensor, node: TensorNode, site: Site) -> None:
    """Copy the tensor, unless nothing needs it after, and change every element that is picked, again if it is twice."""
    x, y, *parts = node.inputs
    (out,) = node.outputs
    site.copy(out, x)
    values, tensor = site.array(y) if y.type.ndim else site.number(y), site.array(out)
    value, sign = "target[{b}]" if values.rank else "y", "|" if x.type.dtype == "bool" else "+"
    statement = f"source[{{a}}] = {value}" if op.set else f"source[{{a}}] = source[{{a}}] {sign} {value}"
    if op.set and values.rank:
        values, tensor = site.bits(values), site.bits(tensor)
        statement = _moved("source[{a}]", "target[{b}]", x)
    picked = _Picked(site, tensor, op.entries, parts)
    picked.walk(statement, values, picked.strides_of(y, values) if values.rank else ())
