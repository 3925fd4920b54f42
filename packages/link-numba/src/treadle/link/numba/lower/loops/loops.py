"""Loops: a function with a loop around the statements of a step.

Carried scalars are local variables. Carried arrays are pointers: into the initial value, into a row of a stacked
result, or into a buffer that is swapped with one of the step's own. Stacked results are allocated before the first
step, and each step writes its row in place. All steps use the same buffers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from treadle.config import dataclass
from treadle.link.numba.dtypes import Storage
from treadle.link.numba.interrupts import FIRST_LOOK
from treadle.link.numba.status import INTERRUPT, MEMORY, SHAPE, VALUE
from treadle.link.numba.table import TABLE
from treadle.link.numba.text.parts import called
from treadle.link.numba.text.unit import indented
from treadle.link.numba.text.values import ArrayValue, ScalarValue, Value, is_literal, names_of, product
from treadle.link.numba.text.writer import GraphWriter
from treadle.tensor import Scan, TensorNode, TensorVariable, tensors

# A loop with an end condition allocates this many rows first, and more as it needs them.
_ROWS = 64
# More than any machine has, and small enough that the size of a result does not overflow.
_MOST_BYTES = 2**60
_NAME = re.compile(r"[A-Za-z_]\w*")


@TABLE.register(Scan)
def lower_scan(op: Scan, node: TensorNode, writer: GraphWriter) -> None:
    """Write the loop as a function, and its call."""
    _Loop(op, node, writer).write()


@dataclass(slots=True)
class _Carry:
    """A value that each step hands on to the next."""

    # The variable with the initial value.
    start: TensorVariable
    # The local variables that a step reads it from.
    value: Value
    # The buffer that an array lies in, unless it lies elsewhere; 0 for a scalar.
    slot: int = 0
    # The value for the next step.
    new: Value | None = None
    # The buffer of the step that the new array lies in, 0 if it lies elsewhere.
    source: int = 0
    # Whether the new array always lies there.
    is_sure: bool = False
    # Whether steps write into the array, which must then lie in its buffer.
    is_written: bool = False


@dataclass(slots=True)
class _Stack:
    """A result whose rows are stacked, one for each step."""

    # Its address and its buffer.
    address: str
    slot: int
    # The lengths of a row.
    dims: tuple[str, ...]
    # Its dtype.
    storage: Storage
    # Whether these lengths are known before the first step; otherwise the first step sets them.
    is_known: bool
    # The row that a step computes, if the step writes it in place.
    row: ArrayValue | None = None

    @property
    def size(self) -> str:
        """Size of a row in bytes, as an expression."""
        return product([*self.dims, str(self.storage.itemsize)])


class _Loop:
    """Writes one loop."""

    def __init__(self, op: Scan, node: TensorNode, writer: GraphWriter) -> None:
        self.op = op
        self.node = node
        self.writer = writer
        self.body = op.fgraph.unfreeze()
        self.inner = op.sorted(tensors(self.body.inputs))
        self.outer = op.sorted(tensors(node.inputs[1:]))
        outputs = tensors(self.body.outputs)
        self.new = outputs[: op.n_carries]
        self.rows = outputs[op.n_carries : op.n_carries + op.n_stacked]
        self.i = writer.name("i")
        self.capacity = writer.name("rows")
        self.carries: list[_Carry] = []
        self.stacks: list[_Stack] = []
        # Buffers outside of the loop that carries may lie in.
        self.elsewhere: dict[int, None] = {}

    def write(self) -> None:
        """Write the function and its call, and bind the outputs."""
        writer = self.writer
        self.steps = writer.let(writer.scalar(self.node.inputs[0], "int64"), "n")
        self._check()
        around, head, dying = writer.lines, writer.head, writer.dying
        values = dict(writer.values)
        constants: list[str] = []
        before: list[str] = []
        step: list[str] = []
        tail: list[str] = []
        writer.head = constants if head is None else head
        writer.lines = before
        self._make_stacks()
        writer.lines = step
        self._take_inputs()
        first = writer.slots
        texts = writer.statements(self.body)
        writer.lines = tail
        self._store_rows()
        self._hand_on({*range(first + 1, writer.slots + 1), *(c.slot for c in self.carries)})
        until = writer.scalar(self.body.outputs[-1]) if self.op.has_until else ""
        # Statements of one part stand in the loop itself: its scalars are in registers.
        inside = texts[0] if len(texts) == 1 else called(writer, texts, _NAME.findall("\n".join([*tail, until])))
        writer.values, writer.dying = dict(values), dying
        writer.lines = before
        self._start()
        lines = [*constants, *before, *self._around([*self._growth(), *step, *inside, *tail], until)]
        writer.values, writer.lines, writer.head = values, around, head
        for row in self.rows:
            writer.places.pop(row, None)
        self._finish(lines)

    def _check(self) -> None:
        """Write the checks of the number of steps and of the lengths of sequences."""
        writer = self.writer
        if not is_literal(self.steps):
            writer.stop_if(f"{self.steps} < 0", VALUE)
        for x in self.outer.sequences:
            length = writer.array(x).dims[0]
            if length != self.steps:
                writer.stop_if(f"{length} < {self.steps}", SHAPE)
        for x in (*self.outer.carries, *self.outer.constants):
            writer.value(x)

    # Before the first step

    def _make_stacks(self) -> None:
        """Write the allocation of the stacked results; a node that computes a row then writes it in place."""
        writer = self.writer
        if self.rows:
            rows = f"min({self.steps}, {_ROWS})" if self.op.has_until else self.steps
            writer.add(f"{self.capacity} = {rows}")
        for row, dims in zip(self.rows, self._row_lengths(), strict=True):
            known = all(dims)
            names = tuple(n or writer.name("n") for n in dims)
            stack = _Stack(writer.name(), writer.scratch(1), names, writer.storage(row), known)
            self.stacks.append(stack)
            if known:
                writer.add(*self._allocation(stack))
            else:
                writer.add(f"{stack.address} = 0", *(f"{n} = 0" for n, m in zip(names, dims, strict=True) if not m))
            if known and names and row.owner is not None and row not in writer.places:
                writer.places[row] = lambda lengths, stack=stack: self._place(stack, lengths)  # type: ignore[misc]

    def _allocation(self, stack: _Stack) -> list[str]:
        """Return the statements that allocate the memory of a stacked result."""
        return [
            f"if {self.capacity} > {_MOST_BYTES} // max({stack.size}, 1):",
            f"    return STOP({MEMORY})",
            f"{stack.address} = new(frame, {stack.slot}, {self.capacity} * {stack.size})",
            f"if {stack.address} == 0:",
            f"    return STOP({MEMORY})",
        ]

    def _row_lengths(self) -> list[tuple[str, ...]]:
        """Write the computation of the rows' lengths and return them; a text is empty if only a step can tell."""
        writer, known = self.writer, self.op.row_lengths
        fgraph = known.fgraph.unfreeze()
        if fgraph.outputs:
            inner = self.op.sorted(tensors(fgraph.inputs))
            for row, x in zip(inner.sequences, self.outer.sequences, strict=True):
                value = writer.array(x)
                if value.ndim > 1:
                    writer.bind(row, replace(value, dims=value.dims[1:], strides=value.strides[1:], certain=False))
            for var, x in zip(
                (*inner.carries, *inner.constants), (*self.outer.carries, *self.outer.constants), strict=True
            ):
                writer.bind(var, writer.value(x))
            for lines in writer.statements(fgraph):
                writer.add(*lines)
        row_lengths = [writer.let(writer.scalar(n, "int64"), "n") for n in fgraph.outputs]
        return [
            tuple(row_lengths[at[0]] if isinstance(at, tuple) else "" if at is None else str(at) for at in places)
            for places in known.places
        ]

    def _start(self) -> None:
        """Write the initial values of the carries; arrays that steps overwrite are copied, or their buffers moved."""
        writer = self.writer
        for carry in self.carries:
            value, start = carry.value, writer.value(carry.start)
            if isinstance(start, ArrayValue) and isinstance(value, ArrayValue):
                if carry.is_written:
                    start = self._owned(carry, start)
                else:
                    start = writer.packed(start)
                    self.elsewhere.update(dict.fromkeys(start.slots))
            writer.add(*(f"{name} = {text}" for name, text in _pairs(value, start)))

    def _owned(self, carry: _Carry, start: ArrayValue) -> ArrayValue:
        """Return the initial array of a carry in the carry's own buffer: moved there if possible, otherwise copied."""
        writer = self.writer
        if self.node.inputs.count(carry.start) == 1 and writer.may_overwrite(carry.start):
            writer.add(f"move(frame, {carry.slot}, {start.slots[0]})")
            return start
        return writer.copied(start, start.storage, carry.slot)

    # In a step

    def _take_inputs(self) -> None:
        """Write the rows of the sequences that a step reads, and bind the inputs of the body."""
        writer, i = self.writer, self.i
        for row, x in zip(self.inner.sequences, self.outer.sequences, strict=True):
            value = writer.array(x)
            storage, stride = value.storage, value.strides[0]
            at = i if stride == "1" else f"{i} * {stride}"
            if value.ndim == 1:
                writer.bind_scalar(row, storage.loaded(f"as_{storage.memory}({value.address})[{at}]"))
                continue
            address = writer.let(f"{value.address} + {storage.itemsize} * ({at})")
            dims = writer.known_dims(row, value.dims[1:])
            writer.bind(row, replace(value, address=address, dims=dims, strides=value.strides[1:], certain=False))
        for var, start in zip(self.inner.carries, self.outer.carries, strict=True):
            storage, ndim = writer.storage(var), var.type.ndim
            if not ndim:
                carry = _Carry(start, ScalarValue(writer.name("c", storage.code), storage))
            else:
                name = writer.name("c")
                dims = tuple(writer.name("n") if n is None else str(n) for n in var.type.shape)
                slot = writer.scratch(1)
                strides = writer.packed_strides(dims)
                carry = _Carry(start, ArrayValue(name, dims, strides, storage, (slot,), packed=True), slot)
            self.carries.append(carry)
            writer.bind(var, carry.value)
        for var, x in zip(self.inner.constants, self.outer.constants, strict=True):
            writer.bind(var, writer.value(x))

    def _place(self, stack: _Stack, dims: Sequence[str]) -> ArrayValue:
        """Write the place of a step's row; the program stops if its lengths differ from those of earlier rows."""
        writer = self.writer
        for n, expected in zip(dims, stack.dims, strict=True):
            if n != expected:
                writer.stop_if(f"{n} != {expected}", SHAPE)
        address = writer.let(f"{stack.address} + {self.i} * {stack.size}")
        strides = writer.packed_strides(stack.dims)
        stack.row = ArrayValue(address, stack.dims, strides, stack.storage, (stack.slot,), packed=True, certain=False)
        return stack.row

    def _store_rows(self) -> None:
        """Write copies of the rows that were not computed in place."""
        writer = self.writer
        for row, stack in zip(self.rows, self.stacks, strict=True):
            value = writer.value(row)
            if isinstance(value, ScalarValue):
                stored = stack.storage.stored(value.text)
                writer.add(f"as_{stack.storage.memory}({stack.address})[{self.i}] = {stored}")
            elif value is not stack.row:
                if not stack.is_known:
                    lengths = (f"{n} = {m}" for n, m in zip(stack.dims, value.dims, strict=True) if not is_literal(n))
                    writer.add(f"if {self.i} == 0:", *indented([*lengths, *self._allocation(stack)]))
                writer.copy_into(self._place(stack, value.dims), value)

    def _hand_on(self, own: Collection[int]) -> None:
        """Write the carries for the next step; `own` are the buffers of the loop that a step may write into."""
        writer = self.writer
        used_slots: set[int] = set()
        arrays: list[_Carry] = []
        for carry, var in zip(self.carries, self.new, strict=True):
            carry.new = new = writer.value(var)
            if isinstance(new, ArrayValue):
                new = writer.packed(new)
                sources = [slot for slot in new.slots if slot in own or slot > max(own)]
                if len(sources) > 1 or used_slots.intersection(sources):
                    new = writer.copied(new, new.storage)
                    sources = list(new.slots)
                used_slots.update(sources)
                arrays.append(carry)
                carry.new, carry.source = new, sources[0] if sources else 0
                carry.is_sure = new.certain and len(new.slots) == len(sources) == 1
        self._find_written(arrays)
        for carry in arrays:
            if carry.is_written and not carry.is_sure and isinstance(carry.new, ArrayValue):
                carry.new = writer.copied(carry.new, carry.new.storage)
                carry.source, carry.is_sure = carry.new.slots[0], True
            if isinstance(carry.new, ArrayValue):
                self.elsewhere.update((slot, None) for slot in carry.new.slots if slot != carry.source)
        self._exchange({carry.slot: carry.source for carry in arrays if carry.source})
        pairs = [pair for c in self.carries if c.new is not None for pair in _pairs(c.value, c.new)]
        changed = {name for name, _ in pairs}
        kept = {text: writer.name(code=writer.codes.get(text, "i8")) for _, text in pairs if text in changed}
        writer.add(*(f"{name} = {text}" for text, name in kept.items()))
        writer.add(*(f"{name} = {kept.get(text, text)}" for name, text in pairs))

    def _find_written(self, arrays: Sequence[_Carry]) -> None:
        """Mark the carries that steps write into, and those whose arrays become such carries."""
        by_slot = {carry.slot: carry for carry in arrays}
        pending = [carry for carry in arrays if carry.slot in self.writer.overwritten]
        while pending:
            carry = pending.pop()
            carry.is_written = True
            before = by_slot.get(carry.source)
            if before is not None and not before.is_written:
                pending.append(before)

    def _exchange(self, sources: dict[int, int]) -> None:
        """Write the exchange of buffers: those of the new carries become those of the carries, and vice versa."""
        moves = {slot: source for slot, source in sources.items() if slot != source}
        left = [slot for slot in moves if slot not in moves.values()]
        moves.update(zip([source for source in moves.values() if source not in moves], left, strict=True))
        if len(moves) == 2 and left:
            self.writer.add(f"move(frame, {', '.join(map(str, moves))})")
            return
        held = {source: self.writer.name() for source in moves.values()}
        self.writer.add(*(f"{name} = as_i8(frame)[{source}]" for source, name in held.items()))
        self.writer.add(*(f"as_i8(frame)[{slot}] = {held[source]}" for slot, source in moves.items()))

    def _growth(self) -> list[str]:
        """Return the statements that enlarge the stacked results if they are full and more rows may follow."""
        if not self.stacks or not self.op.has_until:
            return []
        writer, i = self.writer, self.i
        lines = [f"{self.capacity} = min({self.steps}, 2 * {self.capacity})"]
        pointers = [c.value.address for c in self.carries if isinstance(c.value, ArrayValue)]
        for stack in self.stacks:
            grown = writer.name()
            lines += [
                f"{grown} = grow(frame, {stack.slot}, {i} * {stack.size}, {self.capacity} * {stack.size})",
                f"if {grown} == 0:",
                f"    return STOP({MEMORY})",
            ]
            for p in pointers if stack.slot in self.elsewhere else ():
                lines += [
                    f"if {p} >= {stack.address} and {p} < {stack.address} + {i} * {stack.size}:",
                    f"    {p} = {p} - {stack.address} + {grown}",
                ]
            lines.append(f"{stack.address} = {grown}")
        return [f"if {i} == {self.capacity}:", *indented(lines)]

    def _around(self, lines: Sequence[str], until: str) -> list[str]:
        """Return the loop around the statements of a step.

        It checks for an interrupt only now and then, so that the steps in between are not slowed down.
        """
        writer, i, steps = self.writer, self.i, self.steps
        first, look, every, seen, asked = (writer.name(stem) for stem in ("first", "look", "every", "seen", "asked"))
        only_scalars = not self.stacks and all(isinstance(c.value, ScalarValue) for c in self.carries)
        head = [f"{every} = {FIRST_LOOK if only_scalars else 1}", f"{seen} = 0.0", f"{asked} = 0.0"]
        watched = [
            f"{every}, {seen}, {asked} = watched({writer.watch()}, {i}, {every}, {seen}, {asked})",
            f"if {every} < 0:",
            f"    return STOP({INTERRUPT})",
        ]
        if not until:
            return [
                *head,
                f"{i} = 0",
                f"while {i} < {steps}:",
                f"    {first} = {i}",
                f"    {look} = min({first} + {every}, {steps})",
                f"    for {i} in range({first}, {look}):",
                *indented(indented(lines or [f"{i} + 0"])),
                f"    {i} = {look}",
                f"    if {i} < {steps}:",
                *indented(indented(watched)),
            ]
        end = writer.name("n")
        return [
            *head,
            f"{i} = 0",
            f"{end} = {steps}",
            f"{look} = {every}",
            f"while {i} < {end}:",
            *indented([*lines, f"{i} = {i} + 1", f"if {until}:", f"    {end} = {i}"]),
            f"    if {i} == {look} and {i} < {end}:",
            *indented(indented([*watched, f"{look} = {i} + {every}"])),
        ]

    # After the last step

    def _finish(self, lines: Sequence[str]) -> None:
        """Write the call, and bind the outputs."""
        writer, op = self.writer, self.op
        count = self.i if op.has_until else self.steps
        arrays = [c for c in self.carries if isinstance(c.value, ArrayValue)]
        certain = all(c.is_written and c.is_sure for c in arrays)
        names = [name for c in self.carries for name in names_of(c.value)]
        names += [name for s in self.stacks for name in (s.address, *s.dims)]
        writer.add(*called(writer, [lines], [*names, count]))
        for out, carry in zip(self.node.outputs, self.carries, strict=False):
            value = carry.value
            if isinstance(value, ArrayValue):
                dims = writer.known_dims(out, value.dims)
                slots = (carry.slot, *self.elsewhere)
                strides = writer.packed_strides(dims)
                value = replace(value, dims=dims, strides=strides, slots=slots, certain=certain)
            writer.bind(out, value)
        for out, stack in zip(self.node.outputs[op.n_carries :], self.stacks, strict=False):
            dims = writer.known_dims(out, (count, *stack.dims))
            stacked = ArrayValue(
                stack.address, dims, writer.packed_strides(dims), stack.storage, (stack.slot,), packed=True
            )
            writer.bind(out, stacked)
        if op.has_until:
            writer.bind_scalar(self.node.outputs[-1], count)


def _pairs(value: Value, new: Value) -> list[tuple[str, str]]:
    """Return the local variables of a carry that change, each with the expression of its new value."""
    if isinstance(value, ScalarValue) or isinstance(new, ScalarValue):
        pairs = [(value.texts()[0], _typed(new.texts()[0], value.storage))]
    else:
        pairs = list(zip((value.address, *value.dims), (new.address, *new.dims), strict=True))
    return [(name, text) for name, text in pairs if name != text and not is_literal(name)]


def _typed(text: str, storage: Storage) -> str:
    """Return the text of an integer literal, converted to a dtype."""
    return f"{storage.code}({text})" if is_literal(text) and storage.code != "i8" else text
