"""Writing the function behind ``Function.__call__``: quick tests of the arguments, locks, program, updates, result.

Everything that is known when a function is compiled goes into the text: which inputs there are and how their values are
tested, which cells are read and written, what the result looks like.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from treadle.compile.errors import CallError
from treadle.compile.functions.arguments import MISSING, unshared
from treadle.compile.functions.locking import LockingText
from treadle.compile.functions.partial import PartialWriter
from treadle.compile.functions.tiering.tiers import FirstTier
from treadle.config import new_lock
from treadle.graph import Container, NodeError
from treadle.link.vm import UpdatingText

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from treadle.compile.functions.function import Function
    from treadle.compile.functions.partial import Writes
    from treadle.graph import Compute, Type, Value
    from treadle.link.vm import Program

# Held while a function is given a caller: a program that is ready, or has a quicker caller now, may come from another
# thread.
INSTALLING = new_lock()
# Longer results are built by list() and dict().
_MOST_RESULTS = 8


def _fetched(program: Program, type_: Type, value: Value) -> Value:
    return program.fetch(value, type_)


def _converted(function: Function, i: int, value: Value) -> Value:
    return function.signature.convert(i, value, function.maker.options)


def _refuse_empty(title: str, what: str) -> None:
    msg = f"{title}: {what} holds no value: it was left out when the function was pickled. Set it before the call."
    raise CallError(msg)


class _Writer:
    """Writes the caller of one function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.spec = function.maker.specification
        self.program = function.program
        self.host = self.program.host
        self.inputs = self.spec.inputs
        self.open = function.signature.open
        self.defaults = [i for i, item in enumerate(self.inputs) if item.container is not None]
        self.mutable = self.spec.mutable_inputs()
        self.writes = [cell for cell, _ in self.spec.updates]
        self.partial: Writes | None = self.program.writes
        self.values = [*(f"x{i}" for i in range(len(self.inputs))), *(f"s{k}" for k in range(len(self.spec.shared)))]
        self.results = self._results()
        # What runs in the place of a program that updates shared variables.
        self.updating: Callable[..., Sequence[Value]] | None = None
        self.scope: dict[str, object] = {
            "MISSING": MISSING,
            "NodeError": NodeError,
            "bind": function.bind,
            "convert": partial(_converted, function),
            "explain": function.explain,
            "fill": function.signature.filled,
            "keys": self.spec.keys,
            "program": self.program,
            "fetch": self.program.fetch,
            "subset": function.call_subset,
            "empty": partial(_refuse_empty, function.signature.title),
        }
        arguments = [f"x{i}" for i in self.open]
        parameters = [*(f"{name}=MISSING" for name in arguments), *(["/"] if arguments else []), "*rest", "**kw"]
        self.text = LockingText(f"def call({', '.join(parameters)}):", self.scope)
        self.add = self.text.add
        self._write_arguments(arguments)
        self._write_state()

    def compiled(self) -> Compute:
        """Return the caller."""
        return self.text.compiled(["  except NodeError as error:", "    explain(error)", "    raise"])

    def _results(self) -> list[str]:
        """Return the expression of each output of the graph, and of each new value."""
        count = len(self.spec.outputs) + len(self.writes)
        if self.partial is None:
            return [f"out[{k}]" for k in range(count)]
        targets = {u.output: f"new[{m}]" for m, u in enumerate(self.partial.updates)}
        return [targets.get(k, f"out[{at}]") for k, at in enumerate(self.partial.places(count))]

    # Arguments

    def _write_arguments(self, arguments: Sequence[str]) -> None:
        depth, tests = self.text.depth, self._tests()
        packed = f"({', '.join(arguments)}{',' if arguments else ''})"
        if tests is not None:
            unfit = "".join(f" or not ({test})" for test in tests if test is not None)
            self.add(f"if rest or kw{unfit}:")
            self.text.depth += 1
            if arguments:
                self.add("if kw and not rest:")
                self.add(f"  filled = fill({packed}, kw)")
                self.add(f"  if filled is not None: {packed}, kw = filled, {{}}")
                self._write_readers()
                self.add(f"if rest or kw{unfit}:")
                self.text.depth += 1
        self.add(f"if 'output_subset' in kw: return subset({packed}, rest, kw)")
        self.add(f"{packed + ' = ' if arguments else ''}bind({packed}, rest, kw)")
        for at, i in enumerate(self.open):
            # What is of the type is used as it is, given by position or by name; what is trusted, only by position.
            test = None if tests is None or self._is_trusted() else tests[at]
            unfit = f"not ({test})" if test is not None else f"x{i} is not MISSING"
            self.add(f"if {unfit}: x{i} = convert({i}, x{i})")
        self.text.depth = depth

    def _write_readers(self) -> None:
        """Have arguments that are easily converted made values at once, such as Python numbers."""
        for i in () if self._is_trusted() else self.open:
            read = None if self.inputs[i].strict else self.inputs[i].variable.type.quick_reader()
            if read is not None:
                self.scope[f"read{i}"] = read
                self.add(f"x{i} = read{i}(x{i})")

    def _is_trusted(self) -> bool:
        # Unchecked arguments may come in the form of the backend that is still being compiled for.
        return self.function.trust_input and not (isinstance(self.program, FirstTier) and self.program.takes_native)

    def _tests(self) -> list[str | None] | None:
        """Return expressions that hold only for arguments that need no conversion, None if an input has none.

        The expression is None for an argument that is used whatever it is.
        """
        is_trusted = self._is_trusted()
        tests: list[str | None] = []
        for i in self.open:
            item, name = self.inputs[i], f"x{i}"
            has_default = item.container is not None
            if is_trusted:
                tests.append(None if has_default else f"{name} is not MISSING")
                continue
            guard = item.variable.type.guard(name)
            if guard is None:
                return None
            test, used = guard
            self.scope.update(used)
            native = None if i in self.mutable else self.program.native_guard(item.variable.type, name)
            if native is not None:
                test = f"({test}) or ({native[0]})"
                self.scope.update(native[1])
            tests.append(f"{name} is MISSING or {test}" if has_default else test)
        return tests

    # State

    def _write_state(self) -> None:
        cells = [s.container for s in self.spec.shared]
        defaults: list[Value] = [self.inputs[i].container for i in self.defaults]
        names = self.text.enter([*cells, *defaults, *self.writes])
        self._write_reads(names)
        if not self.writes:
            self.text.leave()
        self._write_run(names)
        self._write_updates(names)
        if self.writes:
            self.text.leave(self._result(self.results))
        else:
            self.add(f"return {self._result(self.results)}")

    def _write_reads(self, names: dict[Container, str]) -> None:
        for i in self.defaults:
            cell: Value = self.inputs[i].container
            implicit = self.inputs[i].implicit
            if not implicit:
                self.add(f"if x{i} is MISSING:")
                self.text.depth += 1
            self._write_read(f"x{i}", cell, names[cell], str(self.inputs[i].variable))
            if i in self.mutable:
                # The default was set after the program was made, which may overwrite the input.
                self.scope[f"copy{i}"] = self.inputs[i].variable.type.copy_value
                self.add(f"x{i} = copy{i}(x{i})")
            self.text.depth -= not implicit
        written = {u.input for u in self.partial.updates} if self.partial is not None else ()
        for k, var in enumerate(self.spec.shared):
            name = names[var.container]
            self._write_read(f"s{k}", var.container, name, str(var))
            if type(var.container) is Container and not self.host:
                self._write_move(f"s{k}", var.container, name)
            elif k + len(self.inputs) in written:
                # The writer counts both references of the cell; what is on a device is about to be out of date.
                self.add(f"{name}._value = s{k}")

    def _write_read(self, target: str, cell: Container, name: str, what: str) -> None:
        # The lock is held: the slots of a plain cell may be read as they are.
        if type(cell) is not Container:
            self.add(f"{target} = {name}.{'read_host' if self.host else 'read'}()")
        elif self.host:
            self.add(f"{target} = {name}._host if {name}._fetch is None else {name}.read_host()")
        else:
            self.add(f"{target} = {name}._value")
        # Another thread may hold the lock of the cell for long: it is not taken here.
        if type(cell) is not Container or cell._value is None:
            self.add(f"if {target} is None: empty({what!r})")

    def _write_move(self, target: str, cell: Container, name: str) -> None:
        """Have a value that is not on the program's device yet moved there, to stay."""
        form = self.program.device_form(cell.type)
        if form is not None:
            self.scope[f"{name}_class"], self.scope[f"{name}_convert"] = form
            self.scope[f"{name}_fetch"] = partial(_fetched, self.program, cell.type)
            moved = f"{name}.moved({name}_convert, {name}_fetch)"
            self.add(f"if {target}.__class__ is not {name}_class: {target} = {moved}")

    def _write_run(self, names: dict[Container, str]) -> None:
        for i in self.mutable:
            self.scope["unshared"] = unshared
            self.scope[f"t{i}"] = self.inputs[i].variable.type
            others = [v for v in self.values if v != f"x{i}"]
            self.add(f"x{i} = unshared(t{i}, x{i}, ({', '.join(others)}{',' if others else ''}))")
        if self.writes and getattr(self.program, "record", None) is None:
            self._write_updating(names)
        self.add(f"out = program({', '.join(self.values)})")

    def _write_updating(self, names: dict[Container, str]) -> None:
        """Let the program write what it computes new values with; it is run where that leaves something."""
        text = None
        cells = {len(self.inputs) + k: names[s.container] for k, s in enumerate(self.spec.shared)}
        if not (
            self.host
            or self.mutable
            or self.text.together
            or len(self.spec.outputs) > _MOST_RESULTS
            or any(type(cell) is not Container for cell in names)
        ):
            values = {at: f"{name}._value" for at, name in cells.items()}
            text = UpdatingText(self.values, values, partial(self._changes, names), self._result, self.scope)
        self.updating = self.program.updating(self._replaced(), self._new_values_writer(), text)
        for line in text.lines if text is not None else ():
            self.add(line)

    def _write_updates(self, names: dict[Container, str]) -> None:
        """Put new values into their cells, after all were computed, and all or none of them."""
        changes = self._changes(names, self.results)
        if self.partial is not None:
            self._write_partial(self.partial, changes)
        elif len(changes) < 2:
            for text in changes:
                self.add(text)
        else:
            self._write_wholly(changes, [])

    def _write_wholly(self, changes: Sequence[str], first: Sequence[str]) -> None:
        """Make changes; if something interrupts that, make all of them before the error goes on."""
        # On one line: the interpreter gives a line of its own for "try" an instruction that no handler covers.
        self.add(f"try: {'; '.join([*first, *changes])}")
        self.add("except BaseException as error:")
        if first:
            self.add("  if not kept or kept[-1] is not None:")
            self.add(f"    undo(kept, error, ({', '.join(self.values)},))")
            self.add("    raise")
        for text in changes:
            self.add(f"  {text}")
        self.add("  raise")

    def _write_partial(self, partial_: Writes, changes: Sequence[str]) -> None:
        maker = self.program.maker if isinstance(self.program, FirstTier) else self.function.maker
        writer = PartialWriter(maker, partial_)
        constants = tuple(c.data for c in partial_.constants)
        self.scope |= {"write": writer.write, "undo": writer.undo, "constants": constants}
        targets = {self.values[u.input] for u in partial_.updates}
        operands = ", ".join("None" if v in targets else v for v in self.values)
        self.add(f"new = [{', '.join(self.values[u.input] for u in partial_.updates)}]")
        self.add("kept = []")
        self._write_wholly(changes, [f"write(new, ({operands}, *constants, *out), kept)"])

    def _changes(self, names: dict[Container, str], results: Sequence[str]) -> list[str]:
        """Return the statements that put new values among the expressions of all results into cells."""
        first, changes = len(self.spec.outputs), []
        for k, cell in enumerate(self.writes):
            name, new = names[cell], results[first + k]
            if type(cell) is not Container:
                if not self.host:
                    self.add(f"n{k} = fetch({new}, {name}.type)")
                    new = f"n{k}"
                changes.append(f"{name}.write({new})")
            elif self.host:
                changes.append(f"{name}._value = {name}._host = {new}; {name}._fetch = None")
            else:
                self.scope[f"fetch{k}"] = partial(_fetched, self.program, cell.type)
                changes.append(f"{name}._value = {new}; {name}._fetch = fetch{k}; {name}._host = None")
        return changes

    def _replaced(self) -> list[tuple[int, int]]:
        """Return the positions of shared inputs that are updated, each with that of its new value in the outputs."""
        if self.host or any(type(cell) is not Container for cell in self.writes):
            return []
        read = {var.container: len(self.inputs) + k for k, var in enumerate(self.spec.shared)}
        first = len(self.spec.outputs)
        return [(read[cell], first + k) for k, cell in enumerate(self.writes) if cell in read]

    def _new_values_writer(self) -> Callable[..., None]:
        """Return a function that puts the new values among a program's outputs, in its own form, into the cells.

        Given positions of outputs too, it puts these alone. The locks of the cells are held.
        """
        first = len(self.spec.outputs)
        writes = [(cell, first + k, partial(_fetched, self.program, cell.type)) for k, cell in enumerate(self.writes)]

        def write(outputs: Sequence[Value], only: Collection[int] | None = None) -> None:
            for cell, at, fetch in writes:
                if only is None or at in only:
                    # Nothing can interrupt these between one and the next.
                    cell._value, cell._fetch, cell._host = outputs[at], fetch, None

        return write

    def _result(self, results: Sequence[str]) -> str:
        """Return the expression of the result, from those of outputs and from the sequence ``out`` of them."""
        count = len(self.spec.outputs)
        if self.spec.single:
            return results[0]
        if (count <= _MOST_RESULTS and (self.writes or self.partial is not None)) or self.partial is not None:
            outputs = f"[{', '.join(results[:count])}]"
        else:
            outputs = f"out[:{count}]" if self.writes else "out"
        if self.spec.keys is not None:
            return f"dict(zip(keys, {outputs}))"
        return outputs if outputs[0] == "[" else f"list({outputs})"


def install_caller(function: Function) -> None:
    """Give a function its callable, written for its inputs, state and outputs; `INSTALLING` is held."""
    writer = _Writer(function)
    caller = writer.compiled()
    record = getattr(function.program, "record", None)  # of a function with a profile
    if record is not None:
        function.caller = record.timed_call(caller)
        return
    function.caller = caller
    _take_quicker(function, writer, caller)


def _take_quicker(function: Function, writer: _Writer, caller: Compute) -> None:
    """Let the program's quicker caller, where it has one, take the place of the program or of the whole caller.

    It takes the place of the whole caller where that would only pass arguments on; arguments that the quicker one does
    not take as they are, it leaves to the caller.
    """
    spec, program, scope = writer.spec, function.program, writer.scope
    stateful = spec.shared or writer.writes or writer.defaults or writer.mutable
    if stateful or spec.keys is not None or len(writer.open) != len(writer.inputs):
        run = program.updating([], lambda _: None) if writer.updating is None else writer.updating
        scope["program"] = run
        if run is program:
            program.offer_caller(program, False, partial(scope.__setitem__, "program"))
        return

    def take(quicker: Compute) -> None:
        # The function may have a new caller by now.
        with INSTALLING:
            if function.caller is caller:
                function.caller = quicker

    program.offer_caller(caller, spec.single, take)


def arguments_of(
    function: Function, args: Sequence[Value], rest: Sequence[Value], kw: dict[str, object]
) -> list[Value]:
    """Return an argument, or MISSING where the default is used, for each input that takes one."""
    signature = function.signature
    while args and args[-1] is MISSING:
        args = args[:-1]
    slots = signature.match((*args, *rest), kw)
    signature.check_complete(slots)
    plain = function.maker.linker.plain_argument
    return [plain(slots[i]) for i in signature.open]
