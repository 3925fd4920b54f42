"""GraphWriter: writes the function that runs a graph, statement by statement, and the kernels it calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from treadle.config import config
from treadle.graph import Apply, Constant, FunctionGraph, MissingInputError, Variable, as_index
from treadle.kernels import Address, Site
from treadle.link.numba.dtypes import STORAGES, Storage, converted
from treadle.link.numba.routines.externals import FIXED_WORDS
from treadle.link.numba.status import MEMORY, SHAPE
from treadle.link.numba.text.kernels import NumbaSite
from treadle.link.numba.text.loops import Array, still_where
from treadle.link.numba.text.reducing import Reduced, reducing
from treadle.link.numba.text.sharing import shared
from treadle.link.numba.text.unit import Unit, apart
from treadle.link.numba.text.values import ArrayValue, ScalarValue, Value, is_literal, padded, product
from treadle.tensor import tensors

# Lengths of a last dimension along which a copy writes one element, for which no loop is written.
_FEW = frozenset(map(str, range(1, 9)))


class GraphWriter:
    """Collects statements; rules call its methods.

    Attributes
    ----------
    lines
        The statements written so far.
    local_names
        Every name that they assign.
    units
        The kernels they call, by name.
    codes
        The type code of every name that is not an int64.
    slots, words
        The number of buffers, and of words of the frame: the pool's, and values that functions hand on.
    constants
        The constants and addresses in the program's table.
    overwrites
        Whether an operand is overwritten that may be an argument.
    input_names
        Names of each input's address, lengths and strides.
    values
        The value of each variable that is still needed.
    numbers
        Arrays of one element, which get memory only where a rule asks for their `value`; each with its element.
    dying
        The variables that the node being written uses last.
    overwritten
        The buffers that a node overwrites, though another node allocated them.
    places
        For rows of a loop's stacked results: functions from the lengths to the array that the row is written into.
    head
        In a loop, the statements before it, which read inputs and constants; otherwise None.
    is_shared
        Whether loops are shared among threads.
    reader_of
        Returns the node that alone reads a variable, if it runs whenever the variable is computed; otherwise None.
    statements
        Returns the statements of a graph in this one, cut into parts.
    """

    def __init__(self, fgraph: FunctionGraph, statements: Callable[[FunctionGraph], list[list[str]]]) -> None:
        self.lines: list[str] = []
        self.local_names: set[str] = set()
        self.constants: list[Constant | Address] = []
        self.overwrites = False
        self.input_names = [
            [f"a{i}_p", *(f"a{i}_{letter}{d}" for letter in "ns" for d in range(v.type.ndim))]
            for i, v in enumerate(tensors(fgraph.inputs))
        ]
        self._inputs = dict(zip(fgraph.inputs, self.input_names, strict=True))
        self.units: dict[str, Unit] = {}
        self.codes: dict[str, str] = {}
        self.slots = 0
        self.words = 1
        self._words: dict[str, str] = {}
        self.values: dict[Variable, Value] = {}
        self.numbers: dict[Variable, ScalarValue] = {}
        self.dying: frozenset[Variable] = frozenset()
        self.overwritten: set[int] = set()
        self.places: dict[Variable, Callable[[Sequence[str]], ArrayValue]] = {}
        self.head: list[str] | None = None
        self.reader_of: Callable[[Variable], Apply | None] = lambda _: None
        self.statements = statements
        self.is_shared = bool(config.numba__parallel) and sys.platform != "win32"
        self._names = 0

    # Values

    def storage(self, var: Variable) -> Storage:
        """Return the dtype of a variable."""
        return STORAGES[var.type.dtype]  # type: ignore[attr-defined]  # a tensor

    def value(self, var: Variable) -> Value:
        """Return the value of a variable; code that reads inputs and constants is written when they are first used."""
        value = self.values.get(var)
        number = self.numbers.get(var)
        if value is None and number is not None:
            value = self.allocate(["1"] * var.type.ndim, number.storage)  # type: ignore[attr-defined]  # a tensor
            self.put(value, number.text)
            self.values[var] = value
        elif value is None:
            # In a loop, inputs and constants are read before the first step.
            lines, self.lines = self.lines, self.lines if self.head is None else self.head
            value = self._input(var) if var in self._inputs else self._constant(var)
            self.lines = lines
            self.values[var] = value
        return value

    def _input(self, var: Variable) -> Value:
        address, *layout = self._inputs[var]
        storage = self.storage(var)
        if not layout:
            return ScalarValue(self.let(storage.first(address), code=storage.code), storage)
        ndim = len(layout) // 2
        return ArrayValue(address, self.known_dims(var, layout[:ndim]), tuple(layout[ndim:]), storage)

    def _constant(self, var: Variable) -> Value:
        if not isinstance(var, Constant):
            msg = f"numba: {var} is neither an input, nor a constant, nor computed. Add it to the graph's inputs."
            raise MissingInputError(msg)
        storage = self.storage(var)
        word = FIXED_WORDS + len(self.constants)
        self.constants.append(var)
        shape = var.data.shape
        if not shape and storage.itemsize <= 8:
            text = storage.loaded(f"as_{storage.memory}(table)[{word * (8 // storage.itemsize)}]")
            return ScalarValue(self.let(text, code=storage.code), storage)
        if not shape:
            return ScalarValue(self.let(storage.first(f"as_i8(table)[{word}]"), code=storage.code), storage)
        dims = tuple(map(str, shape))
        return ArrayValue(self.let(f"as_i8(table)[{word}]"), dims, self.packed_strides(dims), storage)

    def array(self, var: Variable) -> ArrayValue:
        """Return the value of a variable of rank 1 or more."""
        value = self.value(var)
        if isinstance(value, ScalarValue):
            msg = f"numba: {var} is a scalar, an array was expected. Check the rank in the rule."
            raise TypeError(msg)
        return value

    def in_memory(self, var: Variable) -> ArrayValue:
        """Return the value of a variable as an array; a number is written into one of rank 0."""
        value = self.value(var)
        if isinstance(value, ArrayValue):
            return value
        cell = self.allocate(["1"], value.storage)
        self.put(cell, value.text)
        return ArrayValue(cell.address, (), (), value.storage, cell.slots)

    def scalar(self, var: Variable, dtype: str | None = None) -> str:
        """Return the expression of a scalar variable, converted to a dtype."""
        known = as_index(var) if dtype == "int64" else None
        if known is not None:
            return str(known)
        value = self.value(var)
        if not isinstance(value, ScalarValue):
            msg = f"numba: {var} is an array, a scalar was expected. Check the rank in the rule."
            raise TypeError(msg)
        return value.text if dtype is None else converted(value.text, value.storage.dtype, dtype)

    def bind_number(self, var: Variable, number: ScalarValue) -> None:
        """Set the value of an array of one element; it gets memory where a rule asks for it."""
        self.numbers[var] = number

    def bind(self, var: Variable, value: Value) -> None:
        """Set the value of a variable."""
        self.values[var] = value

    # Statements

    def site(self, node: Apply) -> Site:
        """Return where rules for all compiling backends write that kernels compute a node."""
        return NumbaSite(node, self)

    def name(self, stem: str = "v", code: str = "i8") -> str:
        """Return a new name of a type."""
        self._names += 1
        name = f"{stem}_{self._names}"
        self.local_names.add(name)
        if code != "i8":
            self.codes[name] = code
        return name

    def add(self, *lines: str) -> None:
        """Write statements."""
        self.lines += lines

    def let(self, text: str, stem: str = "v", code: str = "i8") -> str:
        """Write an assignment to a new name of a type and return it; names and integers are returned as they are."""
        if text.isidentifier() or is_literal(text):
            return text
        name = self.name(stem, code)
        self.lines.append(f"{name} = {text}")
        return name

    def bind_scalar(self, var: Variable, text: str) -> None:
        """Set the value of a variable of rank 0 to an expression of its dtype."""
        storage = self.storage(var)
        if storage.code != "i8" and is_literal(text):
            text = f"{storage.code}({text})"
        self.bind(var, ScalarValue(self.let(text, code=storage.code), storage))

    def put(self, array: ArrayValue, text: str) -> None:
        """Write a number to the first element of an array."""
        self.add(f"as_{array.storage.memory}({array.address})[0] = {array.storage.stored(text)}")

    def stop_if(self, condition: str, status: int) -> None:
        """Write that the program stops with a status if a condition holds."""
        self.lines += [f"if {condition}:", f"    return STOP({status})"]

    def call(self, unit: Unit, arguments: Sequence[str], checked: bool = False) -> None:
        """Write a call of a kernel; if `checked`, the program stops where it returns another status than 0."""
        self.units[unit.name] = unit
        text = f"{unit.name}({', '.join(arguments)})"
        if not checked:
            self.lines.append(text)
            return
        status = self.let(text, "status")
        self.lines += [f"if {status} != 0:", f"    return STOP({status})"]

    # Shapes

    def joined(self, a: str, b: str) -> str:
        """Return the length that two lengths broadcast to; the program stops if they do not."""
        if a == b or b == "1":
            return a
        if a == "1":
            return b
        name = self.let(f"joined({a}, {b})", "n")
        self.stop_if(f"{name} < 0", SHAPE)
        return name

    def same(self, a: str, b: str) -> str:
        """Return the common value of two lengths; the program stops if they differ."""
        if a == b:
            return a
        self.stop_if(f"{a} != {b}", SHAPE)
        return a if is_literal(a) else b

    def broadcast_dims(self, shapes: Sequence[Sequence[str]], known: Sequence[int | None]) -> tuple[str, ...]:
        """Return the lengths that shapes of one rank broadcast to."""
        dims = []
        for at, ns in enumerate(zip(*shapes, strict=True)):
            n = ns[0]
            for m in ns[1:]:
                n = self.joined(n, m)
            length = known[at]
            dims.append(n if length is None else str(length))
        return tuple(dims)

    def known_dims(self, var: Variable, dims: Sequence[str]) -> tuple[str, ...]:
        """Return lengths, replaced by literals where the type knows them."""
        lengths = var.type.shape  # type: ignore[attr-defined]  # a tensor
        return tuple(m if n is None else str(n) for n, m in zip(lengths, dims, strict=True))

    def strides_in(self, value: ArrayValue, dims: Sequence[str]) -> tuple[str, ...]:
        """Return the strides of an array when it is broadcast to lengths."""
        strides = []
        for n, m, s in zip(value.dims, dims, value.strides, strict=True):
            same = n == m or (is_literal(n) and n != "1")
            strides.append(s if same else ("0" if n == "1" else self.let(f"{s} if {n} == {m} else 0", "s")))
        return tuple(strides)

    def packed_strides(self, dims: Sequence[str]) -> tuple[str, ...]:
        """Return the strides of an array in C order."""
        strides: list[str] = []
        for d in range(len(dims) - 1, -1, -1):
            strides.insert(0, "1" if not strides else self.let(product([dims[d + 1], strides[0]]), "s"))
        return tuple(strides)

    # Buffers

    def allocate(self, dims: Sequence[str], storage: Storage, slot: int = 0) -> ArrayValue:
        """Write the allocation of an array in C order and return it; it gets a new buffer unless `slot` names one."""
        slot = slot or self.scratch(1)
        size = self.let(product([*dims, str(storage.itemsize)]), "size")
        address = self.let(f"new(frame, {slot}, {size})")
        self.stop_if(f"{address} == 0", MEMORY)
        return ArrayValue(address, tuple(dims), self.packed_strides(dims), storage, (slot,), packed=True)

    def new_output(self, var: Variable, dims: Sequence[str]) -> ArrayValue:
        """Write the allocation of a node's output, bind the output to the array, and return the array."""
        place = self.places.get(var)
        known = self.known_dims(var, dims)
        output = self.allocate(known, self.storage(var)) if place is None else place(known)
        self.bind(var, output)
        return output

    def scratch(self, count: int) -> int:
        """Reserve consecutive buffers that a kernel may allocate for itself; return the first one."""
        first = self.slots + 1
        self.slots += count
        return first

    def pointer(self, pointer: Address) -> str:
        """Return the expression of an address, which the program's table gets when the program is loaded."""
        self.constants.append(pointer)
        return f"as_i8(table)[{FIXED_WORDS + len(self.constants) - 1}]"

    def watch(self) -> str:
        """Return the expression of the address of the memory that loops check for an interrupt."""
        return f"as_i8(table)[{FIXED_WORDS - 3}]"

    def loaded(self, name: str) -> str:
        """Return the statement that reads a name from its place in the frame, where functions hand on values."""
        place = self._place(name)
        return f"{name} = {place} != 0" if self.codes.get(name) == "b1" else f"{name} = {place}"

    def stored(self, name: str) -> str:
        """Return the statement that writes a name to its place in the frame."""
        value = f"u1({name})" if self.codes.get(name) == "b1" else name
        return f"{self._place(name)} = {value}"

    def _place(self, name: str) -> str:
        if name not in self._words:
            code = self.codes.get(name, "i8").replace("b", "u")
            self._words[name] = self._word(code, int(code[1:]))
        return self._words[name]

    def _word(self, code: str, size: int) -> str:
        """Return the expression of a new place in the frame, for an element of a type."""
        # They lie before the frame's address, the first one nearest to it; a value of two words is aligned.
        self.words += 1 if size <= 8 else 2 + self.words % 2
        return f"as_{code}(frame)[-{8 * self.words // size}]"

    def kept_number(self, value: ScalarValue) -> str:
        """Write that a number is put into the frame; return the expression of its element there."""
        storage = value.storage
        place = self._word(storage.memory, storage.itemsize)
        self.add(f"{place} = {storage.stored(value.text)}")
        return place

    def drop(self, slot: int) -> None:
        """Write the release of a buffer; in a loop, it is kept for the next step."""
        if self.head is None:
            self.lines.append(f"drop(frame, {slot})")

    def may_overwrite(self, var: Variable) -> bool:
        """Whether the current node may overwrite an input: it is a buffer in C order that is not used again."""
        value = self.values[var]
        if not isinstance(value, ArrayValue) or not value.fills_one_buffer or var not in self.dying:
            return False
        slot = value.slots[0]
        if any(slot in x.slots for v, x in self.values.items() if v is not var and isinstance(x, ArrayValue)):
            return False
        self.overwritten.add(slot)
        return True

    # Elementwise work, which many rules share

    def run_elementwise(
        self,
        stem: str,
        inputs: Sequence[tuple[str, Value]],
        outputs: Sequence[tuple[str, ArrayValue]],
        body: Sequence[str],
        checks: bool = False,
    ) -> None:
        """Write a call of the kernel that runs statements for every element.

        Parameters
        ----------
        stem
            Start of the kernel's name.
        inputs
            Names and values of the operands, which are scalars or have the outputs' rank; they are broadcast.
        outputs
            Names and arrays of the results, all of one shape.
        body
            Statements over ``<name>_x``.
        checks
            Whether the body sets ``bad`` to a status for invalid values.
        """
        dims = outputs[0][1].dims
        arrays, scalars, written, arguments, numbers = self.operands(inputs, outputs, dims)
        unit = reducing(stem, len(dims), (), arrays, scalars, written, body, (), checks)
        arguments = [*dims, *arguments, *numbers]
        unit, arguments = self.spread(unit, len(dims), [*arrays, *written], scalars, range(len(dims)), arguments)
        self.call(apart(unit) if stem == "copy" and not self.is_shared else unit, arguments, checked=checks)

    def operands(
        self, inputs: Sequence[tuple[str, Value]], outputs: Sequence[tuple[str, ArrayValue]], dims: Sequence[str]
    ) -> tuple[list[Array], list[tuple[str, str]], list[Array], list[str], list[str]]:
        """Return what a loop nest works on: arrays that it reads, numbers with their type codes, arrays that it writes.

        The arguments of arrays and of numbers follow.
        """
        arrays: list[Array] = []
        scalars: list[tuple[str, str]] = []
        array_arguments: list[str] = []
        scalar_arguments: list[str] = []
        for name, value in inputs:
            if isinstance(value, ScalarValue):
                scalars.append((f"{name}_x", value.storage.code))
                scalar_arguments.append(value.text)
                continue
            arrays.append(Array(name, value.storage, still_where(value, dims)))
            array_arguments += self.passed(arrays[-1], value.address, self.strides_in(value, dims))
        written = [Array(name, value.storage, (False,) * len(dims)) for name, value in outputs]
        for array, (_, value) in zip(written, outputs, strict=True):
            array_arguments += self.passed(array, value.address, value.strides)
        return arrays, scalars, written, array_arguments, scalar_arguments

    def passed(self, array: Array, address: str, strides: Sequence[str]) -> list[str]:
        """Return the arguments of an array, for `spread`."""
        return array.arguments(address, strides, as_address=self.is_shared)

    def spread(
        self,
        unit: Unit,
        ndim: int,
        arrays: Sequence[Array],
        scalars: Sequence[tuple[str, str]],
        cut: Collection[int],
        arguments: Sequence[str],
        reduced: Sequence[Reduced] = (),
        checks: bool = False,
    ) -> tuple[Unit, list[str]]:
        """Return a kernel and its arguments, or the function that shares it among threads, where that is asked for.

        Parameters are those of `treadle.link.numba.text.sharing.shared`; `arguments` were made by `passed`.
        """
        if not self.is_shared:
            return unit, list(arguments)
        threads = f"as_i8(table)[{FIXED_WORDS - 2}]"
        return shared(unit, ndim, arrays, scalars, cut, reduced, checks), [threads, *arguments]

    def fitted(self, value: Value, dims: Sequence[str]) -> Value:
        """Return a value as one of more dimensions; the program stops if it does not broadcast to the lengths."""
        if isinstance(value, ScalarValue):
            return value
        value = padded(value, len(dims))
        for n, m in zip(value.dims, dims, strict=True):
            if n not in {"1", m}:
                self.stop_if(f"{n} != 1 and {n} != {m}", SHAPE)
        return value

    def copy_into(self, target: ArrayValue, source: Value) -> None:
        """Write that a value is copied into an array, converted and broadcast."""
        text = converted("x_x", source.storage.dtype, target.storage.dtype)
        targets = [target]
        few = target.dims[-1]
        if target.ndim > 1 and isinstance(source, ArrayValue) and source.dims[-1] == "1" and few in _FEW:
            # Each element is read once and written to its few places, which a loop over them would take long for.
            size, step = target.storage.itemsize, target.strides[-1]
            lines = [replace(target, dims=target.dims[:-1], strides=target.strides[:-1], packed=False)] * int(few)
            targets = [replace(o, address=f"({o.address} + {size * k} * {step})") for k, o in enumerate(lines)]
            source = replace(source, dims=source.dims[:-1], strides=source.strides[:-1])
        outputs = [(f"o{k or ''}", o) for k, o in enumerate(targets)]
        self.run_elementwise("copy", [("x", source)], outputs, [f"{name}_x = {text}" for name, _ in outputs])

    def copied(self, value: ArrayValue, storage: Storage, slot: int = 0) -> ArrayValue:
        """Write a copy of an array in C order, converted to a dtype, and return it; `slot` is as for `allocate`."""
        copy = self.allocate(value.dims, storage, slot)
        self.copy_into(copy, value)
        return copy

    def packed(self, value: ArrayValue) -> ArrayValue:
        """Return an array in C order: the same one if it is, otherwise a copy (decided at run time)."""
        if value.packed:
            return value
        self.slots += 1
        slot = self.slots
        conditions = []
        expected = self.packed_strides(value.dims)
        for n, s, stride in zip(value.dims, value.strides, expected, strict=True):
            if n != "1" and s != stride:
                conditions.append(f"({n} != 1 and {s} != {stride})")
        if not conditions:
            return replace(value, strides=expected, packed=True)
        address = self.name()
        self.lines += [f"{address} = {value.address}", f"if {' or '.join(conditions)}:"]
        mark = len(self.lines)
        size = product([*value.dims, str(value.storage.itemsize)])
        self.lines.append(f"{address} = new(frame, {slot}, {size})")
        self.stop_if(f"{address} == 0", MEMORY)
        slots = (*value.slots, slot)
        copy = ArrayValue(address, value.dims, expected, value.storage, slots, packed=True, certain=bool(value.slots))
        self.copy_into(copy, value)
        self.lines[mark:] = [f"    {line}" for line in self.lines[mark:]]
        return copy
