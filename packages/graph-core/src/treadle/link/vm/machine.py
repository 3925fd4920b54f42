"""The Python VM: every node runs in Python, in one generated function, which the compile cache keeps."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.config import config
from treadle.graph import Apply, FunctionGraph, MissingInputError, explicit_graph_inputs
from treadle.link.vm.generation import Listing, fixed_value, generate
from treadle.link.vm.linker import ProgramLinker
from treadle.link.vm.programs import (
    Buffers,
    KeepingProgram,
    VMProgram,
    has_own_thunk,
    into_buffers,
    lower_node,
    reusable_outputs,
    through_perform,
    through_thunk,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType

    from treadle.graph import Apply, Compute, FunctionGraph, Value, Variable
    from treadle.link.vm.generation import Listing
    from treadle.link.vm.interface import Program, ProgramGraph
    from treadle.link.vm.programs import VMProgram


class KeptProgram(NamedTuple):
    """The parts of a program of the VM, in a form that can be pickled."""

    fgraph: FunctionGraph
    # The generated functions: name, code as `marshal` writes it, and the node that each line runs.
    functions: list[tuple[str, bytes, dict[int, Apply]]]
    # The nodes by the names under which the functions call them.
    steps: dict[str, Apply]
    names: list[tuple[Variable, str]]
    # Everything else that the functions use, by name.
    extras: dict[str, Any]
    # The text of the functions.
    source: str


def keep(program: VMProgram) -> KeptProgram:
    """Return the parts of a program."""
    listing = program.listing
    scope = listing.run.__globals__
    functions = []
    written = set()
    for name, value in scope.items():
        lines = listing.nodes.get(value.__code__) if isinstance(value, FunctionType) else None
        if lines is not None:
            functions.append((name, marshal.dumps(value.__code__), lines))
            written.add(name)
    rebuilt = {*listing.names.values(), *listing.steps, *written, "__builtins__"}
    extras = {name: value for name, value in scope.items() if name not in rebuilt}
    names = list(listing.names.items())
    return KeptProgram(program.fgraph, functions, listing.steps, names, extras, listing.source)


def restore(parts: KeptProgram, lower: Callable[[Apply], Compute]) -> Listing:
    """Return the functions of a program, made of its parts."""
    scope: dict[str, Any] = dict(parts.extras)
    computed = {out for node in parts.steps.values() for out in node.outputs}
    inputs = set(parts.fgraph.inputs)
    for var, name in parts.names:
        if var not in computed and var not in inputs:
            scope[name] = fixed_value(var)
    scope.update((name, lower(node)) for name, node in parts.steps.items())
    nodes: dict[CodeType, dict[int, Apply]] = {}
    for name, data, lines in parts.functions:
        code = marshal.loads(data)
        scope[name] = FunctionType(code, scope, name)
        nodes[code] = lines
    return Listing(scope["run"], parts.source, dict(parts.names), nodes, parts.steps)


# Returns a function of a node's input values that runs its `perform`.
Lower = Callable[[Apply], Callable[..., Any]]


class PythonLinker(ProgramLinker):
    """Links graphs to the Python VM.

    Parameters
    ----------
    allow_gc
        Whether to free intermediate values after their last use; else `perform` finds those of the last call in its
        output cells, where nobody else has their memory. Option ``allow_gc`` if None.
    lazy
        Whether branches are computed only where they are chosen; option ``vm__lazy`` if None.
    """

    incompatible_rewrites: tuple[str, ...] = ("fusion",)
    capabilities = frozenset({"deepcopy", "views"})
    lazy: bool | None = None

    def __init__(self, *, allow_gc: bool | None = None, lazy: bool | None = None) -> None:
        super().__init__(allow_gc=allow_gc)
        self.lazy = lazy

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph; every op has `perform`, so nothing is refused."""

        def write(lower: Lower) -> Listing:
            return generate(fgraph, {node: lower(node) for node in fgraph.toposort()}, free=True, lazy=self._is_lazy())

        return self._program(fgraph, write)

    def dump(self, program: Program) -> object:
        """Return what `load` needs; None for a program that runs thunks on storage."""
        return keep(program) if isinstance(program, VMProgram) else None

    def load(self, data: Any, graph: ProgramGraph) -> Program:
        """Return the program; the functions of its nodes are made anew."""
        return self._program(data.fgraph, lambda lower: restore(data, lower))

    def _lower(self, node: Apply, perform: Lower = through_perform) -> Compute:
        """Return a function that computes a node; `perform` makes one of the node's `perform`."""
        return lower_node(node, perform)

    def _is_lazy(self) -> bool | None:
        lazy: bool | None = config.vm__lazy if self.lazy is None else self.lazy
        return lazy

    def _program(self, fgraph: FunctionGraph, write: Callable[[Lower], Listing]) -> VMProgram:
        """Return a program of the listing that `write` returns, which is called with a function to lower nodes."""
        if self._frees():
            return VMProgram(fgraph, write(self._lower))
        buffers, reused = Buffers(), reusable_outputs(fgraph)

        def perform(node: Apply) -> Compute:
            return into_buffers(node, reused[node], buffers) if node in reused else through_perform(node)

        def lower(node: Apply) -> Compute:
            # A rule's function makes new memory.
            return perform(node) if node in reused and node.op.filler(node) else self._lower(node, perform)

        return KeepingProgram(fgraph, write(lower), buffers)


class ReferenceLinker(PythonLinker):
    """Links graphs to the ops' own ``perform`` (or thunks), one node after the other: the reference for all others.

    Parameters
    ----------
    allow_gc
        As for `PythonLinker`.
    """

    required_rewrites: tuple[str, ...] = ("minimum_compile", "py_only")
    incompatible_rewrites: tuple[str, ...] = ("cxx_only", "fusion")

    def _lower(self, node: Apply, perform: Lower = through_perform) -> Compute:
        return through_thunk(node) if has_own_thunk(node) else perform(node)

    def _is_lazy(self) -> bool | None:
        return None


def evaluate(variable: Variable, values: Mapping[object, object], mode: object = None, **kwargs: object) -> Value:
    """Compute a variable on the Python VM, unrewritten: the evaluator where `compile` is not installed."""
    del mode, kwargs
    inputs = list(explicit_graph_inputs([variable]))
    arguments: list[object] = []
    for var in inputs:
        if var in values or var.name in values:
            arguments.append(var.type.filter(values[var] if var in values else values[var.name]))
        else:
            msg = f"eval: no value is given for {var} of type {var.type}. Add it to the dictionary of values."
            raise MissingInputError(msg)
    return PythonLinker().link(FunctionGraph(inputs, [variable]))(*arguments)[0]
