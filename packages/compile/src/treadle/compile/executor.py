"""Function: a compiled graph with its state, called like any Python function."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from treadle.compile.calling import make_caller
from treadle.compile.errors import CallError
from treadle.config import Snapshot, config
from treadle.graph import NodeError, debugprint, html_fragment, retell, user_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.compile.mode import Mode
    from treadle.compile.specification import Specification
    from treadle.graph import Container, FunctionGraph, SharedVariable, Type, Variable
    from treadle.link.vm import Program
    from treadle.rewrite import Report


@dataclass(frozen=True, slots=True)
class Maker:
    """What a function was made from.

    Attributes
    ----------
    specification
        The graph before rewriting, with inputs, outputs and updates.
    mode
        The mode.
    fgraph
        The graph after rewriting.
    report
        Which rewrites fired.
    options
        The options that were in force.
    """

    specification: Specification
    mode: Mode
    fgraph: FunctionGraph
    report: Report
    options: Snapshot


class Function:
    """A compiled function. Made by `function`.

    It may be called from any number of threads. A function with updates holds the locks of all shared variables it
    reads or updates from the first read to the write-back; if a call fails, none of them has changed.

    Attributes
    ----------
    name
        Its name, or None.
    maker
        What it was made from.
    trust_input
        Whether arguments are used as they are, without checks: they must be exactly of the inputs' types.
    """

    def __init__(self, maker: Maker, program: Program, name: str | None, trust_input: bool) -> None:
        self.maker = maker
        self.program = program
        self.name = name
        self._trust_input = trust_input
        self.source_line = user_line(2)
        spec = maker.specification
        self._read = tuple(s.container for s in spec.shared)
        self._write = tuple(cell for cell, _ in spec.updates)
        defaults = tuple(i.container for i in spec.inputs if i.container is not None)
        held = {*self._write, *self._read, *(defaults if self._write else ())}
        self._locks = tuple(sorted(held, key=lambda c: c.order)) if self._write or len(self._read) > 1 else ()
        self._call = make_caller(self)

    @property
    def trust_input(self) -> bool:
        """Whether arguments are used without checks."""
        return self._trust_input

    @trust_input.setter
    def trust_input(self, value: bool) -> None:
        self._trust_input = value
        self._call = make_caller(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs.

        Parameters
        ----------
        args, kwargs
            Values of the inputs, by position or by name.

        Returns
        -------
        The value of a bare output; a list for a list of outputs; a dict for a dict of them.

        Raises
        ------
        CallError
            If arguments are missing, too many, named twice or not known.
        TypeError
            If a value does not fit its input: dtype, rank or shape.
        NodeError
            If an op fails; the message names it and the user's line.
        """
        return self._call(*args, **kwargs)

    # The parts of a call; `treadle.compile.calling` writes a function that runs through them.

    def run(self, values: Sequence[Any]) -> Sequence[Any]:
        """Compute outputs for checked values, reading and updating state; return the user's outputs."""
        program = self.program
        if not self._locks:
            state = [self._state(c) for c in self._read]
            return program(*values, *state)
        if not self._write:
            with ExitStack() as stack:
                for cell in self._locks:
                    stack.enter_context(cell.lock)
                state = [self._state(c) for c in self._read]
            return program(*values, *state)
        return self._run_and_update(values)

    def _run_and_update(self, values: Sequence[Any]) -> Sequence[Any]:
        cells = self._locks
        taken = 0
        try:
            for cell in cells:
                cell.lock.acquire()
                taken += 1
            state = [self._state(c) for c in self._read]
            results = self.program(*values, *state)
            count = len(results) - len(self._write)
            self._write_back(results[count:])
            return results[:count]
        finally:
            for cell in reversed(cells[:taken]):
                cell.lock.release()

    def _state(self, cell: Container) -> Any:
        return cell.read_host() if self.program.host else cell.read()

    def _write_back(self, new_values: Sequence[Any]) -> None:
        """Put new values into their cells, all of them after all were computed."""
        if self.program.host:
            for cell, value in zip(self._write, new_values, strict=True):
                cell.write(value)
            return
        for cell, value in zip(self._write, new_values, strict=True):
            cell.write_native(value, partial(_fetched, self.program, cell.type))

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """Match arguments to inputs and convert them: the slow, explaining way.

        Raises
        ------
        CallError, TypeError
            As for calling.
        """
        with config.using(self.maker.options):
            given = self._match(args, kwargs)
            return [self._converted(i, value) for i, value in enumerate(given)]

    def explain(self, error: NodeError) -> None:
        """Give the error of a node the length that ``exception_verbosity`` had when the function was made."""
        with config.using(self.maker.options):
            retell(error)

    def _title(self) -> str:
        return self.name or "function"

    def _signature(self) -> str:
        parts = []
        for item in self.maker.specification.inputs:
            text = f"{item.name or '(unnamed)'}: {item.variable.type}"
            parts.append(text + " = default" if item.container is not None else text)
        return f"{self._title()}({', '.join(parts)})"

    def _match(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        inputs = self.maker.specification.inputs
        slots: list[Any] = [_MISSING] * len(inputs)
        open_places = [i for i, item in enumerate(inputs) if not item.implicit]
        if len(args) > len(open_places):
            msg = f"{self._title()}: {len(open_places)} arguments at most, got {len(args)}. Call {self._signature()}."
            raise CallError(msg)
        for place, value in zip(open_places, args, strict=False):
            slots[place] = value
        for key, value in kwargs.items():
            slots[self._place(key, slots)] = value
        for i, item in enumerate(inputs):
            if slots[i] is _MISSING and item.container is not None:
                slots[i] = item.container.read_host()
            if slots[i] is _MISSING:
                msg = (
                    f"{self._title()}: argument {i}, {item.variable} of type {item.variable.type}, is missing. "
                    f"Call {self._signature()}."
                )
                raise CallError(msg)
        return slots

    def _place(self, key: str, slots: Sequence[Any]) -> int:
        inputs = self.maker.specification.inputs
        places = [i for i, item in enumerate(inputs) if item.name == key]
        if len(places) != 1:
            problem = "several inputs have" if places else "no input has"
            msg = f"{self._title()}: {problem} the name {key!r}. Call {self._signature()}."
            raise CallError(msg)
        (place,) = places
        if inputs[place].implicit:
            msg = f"{self._title()}: {key!r} is implicit, its value cannot be given. Leave it out."
            raise CallError(msg)
        if slots[place] is not _MISSING:
            msg = f"{self._title()}: {key!r} is given twice, by position and by name. Give it once."
            raise CallError(msg)
        return place

    def _converted(self, i: int, value: Any) -> Any:
        item = self.maker.specification.inputs[i]
        try:
            return item.variable.type.filter(value, strict=item.strict, allow_downcast=item.allow_downcast)
        except (TypeError, ValueError) as error:
            msg = f"{self._title()}: argument {i}, {item.variable}: {error}"
            raise CallError(msg) from error

    # Looking inside

    @property
    def fgraph(self) -> FunctionGraph:
        """The rewritten graph."""
        return self.maker.fgraph

    def get_shared(self) -> list[SharedVariable]:
        """Return the shared variables that the function reads."""
        return list(self.maker.specification.shared)

    def dprint(self, **options: Any) -> Any:
        """Print the rewritten graph (options as for `debugprint`)."""
        return debugprint(self, **options)

    def _repr_html_(self) -> str:
        """Show the rewritten graph in a notebook."""
        return html_fragment(self)

    def stored_values(self) -> dict[Variable, Any]:
        """Return the values that the function keeps, by input of the rewritten graph: state and inputs' defaults."""
        places = zip(self.maker.fgraph.inputs, self.maker.specification.cells(), strict=True)
        return {var: cell.read_host() for var, cell in places if cell is not None}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the graph before rewriting, the mode, the state and the options it was made with.

        The function is compiled again on loading. Options whose defaults are computed from the machine, such as the
        compiler and the compile directory, are those of the machine that loads it. With option ``unpickle_function``
        at False, loading gives None.
        """
        options = self.maker.options
        kept = {o.name: options[o.name] for o in config.options() if o.name in options and not callable(o.default)}
        return _remake, (self.maker.specification, self.maker.mode, self.name, self._trust_input, kept)

    def __copy__(self) -> Function:
        """Return another function over the same state."""
        return Function(self.maker, self.program, self.name, self._trust_input)

    def __repr__(self) -> str:
        """Show signature, mode and where it was made."""
        where = f" made at {self.source_line}" if self.source_line is not None else ""
        return f"<{self._signature()} on {self.maker.mode}{where}>"


def _fetched(program: Program, type_: Type, value: Any) -> Any:
    return program.fetch(value, type_)


class _Missing:
    """Marker of an argument that was not given."""


_MISSING = _Missing()


def compile_specification(
    specification: Specification, mode: Mode, name: str | None = None, trust_input: bool = False
) -> Function:
    """Rewrite, link and wrap what `specify` returned."""
    options = config.snapshot()
    fgraph = specification.graph()
    report = mode.optimizer.rewrite(fgraph)
    program = mode.make_linker().link(fgraph, specification.native_outputs())
    return Function(Maker(specification, mode, fgraph, report, options), program, name, trust_input)


def _remake(
    specification: Specification, mode: Mode, name: str | None, trust_input: bool, options: dict[str, Any]
) -> Function | None:
    if not config.unpickle_function:
        return None
    with config.using(options):
        return compile_specification(specification, mode, name, trust_input)
