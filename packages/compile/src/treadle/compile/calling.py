"""Writing the function behind ``Function.__call__``: quick tests of the arguments, locks, program, updates, result.

Everything that is known when a function is made stands in the text: which inputs there are and how their values are
tested, which cells are read and written, what the result looks like.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from treadle.compile.arguments import MISSING, unshared
from treadle.compile.errors import CallError
from treadle.graph import Container, NodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from treadle.compile.executor import Function
    from treadle.graph import Type
    from treadle.link.vm import Program

# Each lock is a block of its own in the text; the interpreter allows 20.
_MOST_LOCKS = 8
# Longer results are built by list() and dict().
_MOST_RESULTS = 8


class _Held:
    """The locks of some cells, taken in order; used where there are too many to name in a text."""

    __slots__ = ("_cells", "_taken")

    def __init__(self, cells: Sequence[Container]) -> None:
        self._cells = cells
        self._taken: list[Any] = []

    def __enter__(self) -> None:
        try:
            for cell in self._cells:
                lock = cell.lock
                lock.acquire()
                self._taken.append(lock)
        except BaseException:
            self._release()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._release()

    def _release(self) -> None:
        while self._taken:
            self._taken.pop().release()


def _fetched(program: Program, type_: Type, value: Any) -> Any:
    return program.fetch(value, type_)


def _refuse_empty(title: str, what: str) -> None:
    msg = f"{title}: {what} holds no value: it was left out when the function was pickled. Set it before the call."
    raise CallError(msg)


class _Writer:
    """Writes the caller of one function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.spec = function.maker.specification
        self.host = function.program.host
        self.inputs = self.spec.inputs
        self.open = function.signature.open
        self.defaults = [i for i, item in enumerate(self.inputs) if item.container is not None]
        self.mutable = self.spec.mutable_inputs()
        self.writes = [cell for cell, _ in self.spec.updates]
        self.scope: dict[str, Any] = {
            "MISSING": MISSING,
            "NodeError": NodeError,
            "bind": function.bind,
            "explain": function.explain,
            "keys": self.spec.keys,
            "program": function.program,
            "subset": function.call_subset,
            "empty": partial(_refuse_empty, function.signature.title),
        }
        self.lines: list[str] = []
        self.depth = 2

    def add(self, text: str) -> None:
        """Add a statement."""
        self.lines.append("  " * self.depth + text)

    def text(self) -> str:
        """Return the text of the caller."""
        given = [f"x{i}" for i in self.open]
        parameters = [*(f"{name}=MISSING" for name in given), *(["/"] if given else []), "*rest", "**kw"]
        self._write_arguments(given)
        self._write_state()
        return "\n".join(
            [
                f"def call({', '.join(parameters)}):",
                "  try:",
                *self.lines,
                "  except NodeError as error:",
                "    explain(error)",
                "    raise",
            ]
        )

    # Arguments

    def _write_arguments(self, given: Sequence[str]) -> None:
        tests = self._tests()
        if tests is None:
            self._write_binding(given)
            return
        self.add(f"if rest or kw{''.join(f' or not ({test})' for test in tests)}:")
        self.depth += 1
        self._write_binding(given)
        self.depth -= 1

    def _write_binding(self, given: Sequence[str]) -> None:
        taken = f"({', '.join(given)}{',' if given else ''})"
        self.add(f"if 'output_subset' in kw: return subset({taken}, rest, kw)")
        self.add(f"{taken + ' = ' if given else ''}bind({taken}, rest, kw)")

    def _tests(self) -> list[str] | None:
        """Return expressions that hold only for arguments that need no conversion, None if there are none."""
        tests = []
        for i in self.open:
            item, name = self.inputs[i], f"x{i}"
            if self.function.trust_input:
                test = f"{name} is not MISSING"
            else:
                found = item.variable.type.guard(name)
                if found is None:
                    return None
                test, used = found
                self.scope.update(used)
            if item.container is not None:
                test = "True" if self.function.trust_input else f"{name} is MISSING or {test}"
            tests.append(test)
        return [test for test in tests if test != "True"]

    # State

    def _write_state(self) -> None:
        cells = dict.fromkeys(s.container for s in self.spec.shared)
        kept = dict.fromkeys(self.inputs[i].container for i in self.defaults)
        held = {*cells, *kept, *self.writes} - {None}
        order: list[Any] = sorted(held, key=lambda cell: cell.order)
        for k, cell in enumerate(order):
            self.scope[f"c{k}"] = cell
        names = {cell: f"c{k}" for k, cell in enumerate(order)}
        before = self.depth
        self._write_locks(order, names)
        self._write_reads(names)
        if not self.writes:
            self.depth = before
        self._write_run()
        self._write_updates(names)
        self.depth = before
        self.add(f"return {self._result()}")

    def _write_locks(self, order: Sequence[Container], names: dict[Container, str]) -> None:
        if not order:
            return
        if len(order) > _MOST_LOCKS:
            self.scope |= {"Held": _Held, "cells": tuple(order)}
            self.add("with Held(cells):")
            self.depth += 1
            return
        for cell in order:
            self.add(f"with {names[cell]}.lock:")
            self.depth += 1

    def _write_reads(self, names: dict[Container, str]) -> None:
        for i in self.defaults:
            cell: Any = self.inputs[i].container
            implicit = self.inputs[i].implicit
            if not implicit:
                self.add(f"if x{i} is MISSING:")
                self.depth += 1
            self._write_read(f"x{i}", cell, names[cell], str(self.inputs[i].variable))
            if i in self.mutable:
                # The default was set after the program was made, which may overwrite the input.
                self.scope[f"copy{i}"] = self.inputs[i].variable.type.copy_value
                self.add(f"x{i} = copy{i}(x{i})")
            self.depth -= not implicit
        for k, var in enumerate(self.spec.shared):
            self._write_read(f"s{k}", var.container, names[var.container], str(var))

    def _write_read(self, target: str, cell: Container, name: str, what: str) -> None:
        # The lock is held: the slots of a plain cell may be read as they are.
        if type(cell) is not Container:
            self.add(f"{target} = {name}.{'read_host' if self.host else 'read'}()")
        elif self.host:
            self.add(f"{target} = {name}._host if {name}._fetch is None else {name}.read_host()")
        else:
            self.add(f"{target} = {name}._value")
        if cell.read() is None:
            self.add(f"if {target} is None: empty({what!r})")

    def _write_run(self) -> None:
        values = [*(f"x{i}" for i in range(len(self.inputs))), *(f"s{k}" for k in range(len(self.spec.shared)))]
        for i in self.mutable:
            self.scope["unshared"] = unshared
            self.scope[f"t{i}"] = self.inputs[i].variable.type
            others = [v for v in values if v != f"x{i}"]
            self.add(f"x{i} = unshared(t{i}, x{i}, ({', '.join(others)}{',' if others else ''}))")
        self.add(f"out = program({', '.join(values)})")

    def _write_updates(self, names: dict[Container, str]) -> None:
        """Put new values into their cells, all of them after all were computed."""
        first = len(self.spec.outputs)
        for k, cell in enumerate(self.writes):
            name, new = names[cell], f"out[{first + k}]"
            if type(cell) is not Container:
                fetched = new if self.host else f"program.fetch({new}, {name}.type)"
                self.add(f"{name}.write({fetched})")
            elif self.host:
                self.add(f"{name}._value = {name}._host = {new}; {name}._fetch = None")
            else:
                self.scope[f"fetch{k}"] = partial(_fetched, self.function.program, cell.type)
                self.add(f"{name}._value = {new}; {name}._fetch = fetch{k}; {name}._host = None")

    def _result(self) -> str:
        """Return the expression of the result, from the sequence ``out`` of outputs and new values."""
        count = len(self.spec.outputs)
        if self.spec.single:
            return "out[0]"
        outputs = "out" if not self.writes else f"out[:{count}]"
        if self.spec.keys is not None:
            return f"dict(zip(keys, {outputs}))"
        if count <= _MOST_RESULTS and self.writes:
            return f"[{', '.join(f'out[{k}]' for k in range(count))}]"
        return f"list({outputs})"


def install_caller(function: Function) -> None:
    """Give a function its callable, written for its inputs, state and outputs."""
    writer = _Writer(function)
    text = writer.text()
    exec(compile(text, "<treadle call>", "exec"), writer.scope)
    made: Callable[..., Any] = writer.scope["call"]
    record = getattr(function.program, "record", None)  # of a function with a profile
    if record is not None:
        function.__call__ = record.timed_call(made)
        return
    function.__call__ = made
    _take_quicker(function, writer, made)


def _take_quicker(function: Function, writer: _Writer, made: Callable[..., Any]) -> None:
    """Let the program's quicker caller, where it has one, take the program's place; or the whole caller's.

    It takes the whole caller's place where that would only pass arguments on: what it does not take as they are, it
    leaves to the caller.
    """
    spec, program, scope = writer.spec, function.program, writer.scope
    stateful = spec.shared or writer.writes or writer.defaults or writer.mutable
    if stateful or spec.keys is not None or len(writer.open) != len(writer.inputs):
        program.offer_caller(program, False, partial(scope.__setitem__, "program"))
        return

    def take(quicker: Callable[..., Any]) -> None:
        # The function may have a new caller by now.
        if function.__call__ is made:
            function.__call__ = quicker

    program.offer_caller(made, spec.single, take)


def arguments_of(function: Function, args: Sequence[Any], rest: Sequence[Any], kw: dict[str, Any]) -> list[Any]:
    """Return a value, or MISSING where the default is used, for each input that takes an argument."""
    signature, options = function.signature, function.maker.options
    while args and args[-1] is MISSING:
        args = args[:-1]
    slots = signature.match((*args, *rest), kw)
    signature.check_complete(slots)
    convert = signature.convert
    return [MISSING if slots[i] is MISSING else convert(i, slots[i], options) for i in signature.open]
