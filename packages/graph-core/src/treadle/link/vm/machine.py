"""The Python VM: every node runs in Python, in one straight-line generated function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treadle.config import config
from treadle.graph import (
    Apply,
    FunctionGraph,
    GraphTypeError,
    IfElse,
    MissingInputError,
    explicit_graph_inputs,
    made_thunk,
)
from treadle.link.vm.buffers import Buffers, reusable_outputs
from treadle.link.vm.cells import has_own_thunk, through_thunk
from treadle.link.vm.generation import generate
from treadle.link.vm.interface import Backend
from treadle.link.vm.keeping import keep, restore
from treadle.link.vm.linkers import Linker, LocalLinker
from treadle.link.vm.programs import KeepingProgram, VMProgram, into_buffers, lower_node, through_perform
from treadle.link.vm.thunks.loops import Loop, Stack
from treadle.link.vm.thunks.node_thunks import thunk_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.graph import Variable
    from treadle.link.vm.generation import Listing
    from treadle.link.vm.interface import Program
    from treadle.link.vm.program_graph import ProgramGraph
    from treadle.link.vm.thunks.containers import Container, StorageMap

    All = tuple[Any, list[Container], list[Container], list[Any], list[Apply]]
    Flags = dict[Variable, list[bool]]


Lower = Callable[[Apply], Callable[..., Any]]


def perform_or_thunk(node: Apply, perform: Lower = through_perform) -> Callable[..., Any]:
    """Return a function of the node's input values: its own thunk's, or what runs its `perform`."""
    return through_thunk(node) if has_own_thunk(node) else perform(node)


def _listing(fgraph: FunctionGraph, lower: Lower, lazy: bool | None = None) -> Listing:
    return generate(fgraph, {node: lower(node) for node in fgraph.toposort()}, free=True, lazy=lazy)


def _program(
    fgraph: FunctionGraph, frees: bool, lower: Callable[..., Callable[..., Any]], write: Callable[[Lower], Listing]
) -> VMProgram:
    """Return a program of a graph.

    Parameters
    ----------
    fgraph
        The graph.
    frees
        Whether no memory is kept for the next call.
    lower
        Returns what computes a node, given it and what runs a node's `perform`.
    write
        Returns the listing, given what computes a node.
    """
    if frees:
        return VMProgram(fgraph, write(lower))
    buffers, reused = Buffers(), reusable_outputs(fgraph)

    def perform(node: Apply) -> Callable[..., Any]:
        return into_buffers(node, reused[node], buffers) if node in reused else through_perform(node)

    return KeepingProgram(fgraph, write(lambda node: lower(node, perform)), buffers)


class PerformLinker(LocalLinker):
    """Links graphs to the ops' own ``perform`` (or thunks), one node after the other: the reference for all others.

    Parameters
    ----------
    allow_gc
        Whether to free intermediate values after their last use; else `perform` finds those of the last call in its
        output cells, where nobody else has their memory. Option ``allow_gc`` if None.
    schedule
        Returns the nodes of a graph in the order in which they are to run; `FunctionGraph.toposort` if None.
    """

    required_rewrites: tuple[str, ...] = ("minimum_compile", "py_only")
    incompatible_rewrites: tuple[str, ...] = ("cxx_only", "fusion")
    capabilities = frozenset({"deepcopy", "views"})

    def __init__(
        self,
        allow_gc: bool | None = None,
        schedule: Callable[[FunctionGraph], list[Apply]] | None = None,
    ) -> None:
        super().__init__(allow_gc=allow_gc, scheduler=schedule)

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph; every op has `perform`, so nothing is refused."""
        if self._scheduler is not None:
            return Linker.link(self, fgraph, native_outputs)
        return _program(fgraph, self._frees(), perform_or_thunk, lambda lower: _listing(fgraph, lower))

    def dump(self, program: Program) -> Any:
        """Return what `load` needs; None for a program that runs thunks on storage."""
        return keep(program) if isinstance(program, VMProgram) else None

    def load(self, data: Any, graph: ProgramGraph) -> Program:
        """Return the program; what computes its nodes is made anew."""
        del graph
        return _program(data.fgraph, self._frees(), perform_or_thunk, lambda lower: restore(data, lower))

    def make_all(
        self,
        input_storage: Sequence[Any] | None = None,
        output_storage: Sequence[Any] | None = None,
        storage_map: StorageMap | None = None,
        **kwargs: Any,
    ) -> All:
        """Return a thunk for the accepted graph, containers, the thunks of the nodes, and the nodes."""
        del kwargs
        lasting = self._lasting()

        def make(node: Apply, known: StorageMap, flags: Flags) -> Any:
            return made_thunk(node, known, flags, lasting, "py")

        return self._make_all(make, input_storage, output_storage, storage_map)


class VMLinker(LocalLinker):
    """Links graphs to the Python VM.

    Parameters
    ----------
    allow_gc
        Whether to free intermediate values after their last use; else `perform` finds those of the last call in its
        output cells, where nobody else has their memory. Option ``allow_gc`` if None.
    use_cloop
        Accepted for the documented signature: linker ``cvm`` is what runs in C.
    callback
        Is called after each node that has run, with the keywords ``node``, ``thunk``, ``storage_map`` and
        ``compute_map``.
    callback_input
        Is called before the first node, with each input, shared variable and constant, and its value.
    lazy
        Whether branches are computed only where they are chosen; option ``vm__lazy`` if None.
    schedule
        Returns the nodes of a graph in the order in which they are to run; `FunctionGraph.toposort` if None.
    c_thunks
        Accepted for the documented signature: nodes of the VM run in Python.
    allow_partial_eval
        Accepted for the documented signature: what `make_thunk` returns always takes a subset of the outputs.
    """

    incompatible_rewrites = ("fusion",)
    capabilities = frozenset({"deepcopy", "views"})

    def __init__(
        self,
        allow_gc: bool | None = None,
        use_cloop: bool = False,
        callback: Callable[..., Any] | None = None,
        callback_input: Callable[..., Any] | None = None,
        lazy: bool | None = None,
        schedule: Callable[[FunctionGraph], list[Apply]] | None = None,
        c_thunks: bool | None = None,
        allow_partial_eval: bool | None = None,
    ) -> None:
        super().__init__(allow_gc=allow_gc, scheduler=schedule)
        self.use_cloop = use_cloop
        self.callback = _callable_or_none("callback", callback)
        self.callback_input = _callable_or_none("callback_input", callback_input)
        self.acts_at_nodes = callback is not None or callback_input is not None
        self.lazy = lazy
        self.c_thunks = c_thunks
        self.allow_partial_eval = allow_partial_eval

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph; every op has `perform`, so nothing is refused."""
        if self._scheduler is not None or self.callback is not None or self.callback_input is not None:
            return Linker.link(self, fgraph, native_outputs)
        return _program(fgraph, self._frees(), lower_node, lambda lower: _listing(fgraph, lower, self._is_lazy()))

    def dump(self, program: Program) -> Any:
        """Return what `load` needs; None for a program that runs thunks on storage."""
        return keep(program) if isinstance(program, VMProgram) else None

    def load(self, data: Any, graph: ProgramGraph) -> Program:
        """Return the program; what computes its nodes is made anew."""
        del graph
        return _program(data.fgraph, self._frees(), lower_node, lambda lower: restore(data, lower))

    def _is_lazy(self) -> bool | None:
        lazy: bool | None = config.vm__lazy if self.lazy is None else self.lazy
        return lazy

    def make_all(
        self,
        input_storage: Sequence[Any] | None = None,
        output_storage: Sequence[Any] | None = None,
        storage_map: StorageMap | None = None,
        **kwargs: Any,
    ) -> All:
        """Return a VM for the accepted graph, containers, the thunks of the nodes, and the nodes.

        The VM is a `Stack` where choices are lazy, else a `Loop`.
        """
        del kwargs
        order = self.schedule(self._accepted())
        lasting = self._lasting()
        lazy = self._is_lazy()
        if lazy is None:
            lazy = any(isinstance(node.op, IfElse) or has_own_thunk(node) for node in order)

        def make(node: Apply, known: StorageMap, flags: Flags) -> Any:
            if has_own_thunk(node) or (lazy and isinstance(node.op, IfElse)):
                return made_thunk(node, known, flags, lasting)
            return thunk_of(node, lower_node(node), known, flags, lasting)

        def vm(*args: Any, **options: Any) -> Loop | Stack:
            kind = Stack if lazy else Loop
            return kind(*args, callback=self.callback, callback_input=self.callback_input, **options)

        return self._make_all(make, input_storage, output_storage, storage_map, vm)


def _callable_or_none(name: str, given: Any) -> Any:
    if given is not None and not callable(given):
        msg = f"VMLinker: {name} must be a function, got {given!r}."
        raise GraphTypeError(msg)
    return given


BACKEND = Backend(
    name="vm",
    linker=VMLinker,
    exclude=("fusion",),
    capabilities=frozenset({"deepcopy", "views"}),
    priority=0,
    aliases=("py", "vm_nogc"),
)


def evaluate(variable: Variable, values: Mapping[Any, Any], mode: Any = None, **kwargs: Any) -> Any:
    """Compute a variable on the Python VM, unrewritten: the evaluator where `compile` is not installed."""
    del mode, kwargs
    inputs = list(explicit_graph_inputs([variable]))
    given: list[Any] = []
    for var in inputs:
        if var in values or var.name in values:
            given.append(var.type.filter(values[var] if var in values else values[var.name]))
        else:
            msg = f"eval: no value is given for {var} of type {var.type}. Add it to the dictionary of values."
            raise MissingInputError(msg)
    return VMLinker().link(FunctionGraph(inputs, [variable]))(*given)[0]
