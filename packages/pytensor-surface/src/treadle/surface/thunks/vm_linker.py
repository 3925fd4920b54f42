"""The documented linkers of the Python VM: with hooks, with schedules, and with thunks of the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import GraphTypeError, IfElse, made_thunk
from treadle.link.vm import PythonLinker, ReferenceLinker, lower_node
from treadle.link.vm.programs import has_own_thunk
from treadle.surface.thunks.linker import Linker, LocalLinker
from treadle.surface.thunks.loops import Loop, Stack
from treadle.surface.thunks.node_thunks import thunk_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, FunctionGraph, ThunkType, Variable
    from treadle.link.vm import Program
    from treadle.surface.thunks.containers import StorageMap
    from treadle.surface.thunks.linker import Flags, MakeNode
    from treadle.surface.thunks.loops import UpdatingVM


class PerformLinker(LocalLinker, ReferenceLinker):
    """Links graphs to the ops' own ``perform`` (or thunks), one node after the other: the reference for all others.

    Parameters
    ----------
    allow_gc
        Whether to free intermediate values after their last use; else `perform` finds those of the last call in its
        output cells, where nobody else has their memory. Option ``allow_gc`` if None.
    schedule
        Returns the nodes of a graph in the order in which they are to run; `FunctionGraph.toposort` if None.
    """

    def __init__(
        self,
        allow_gc: bool | None = None,
        schedule: Callable[[FunctionGraph], list[Apply]] | None = None,
    ) -> None:
        super().__init__(allow_gc=allow_gc, scheduler=schedule)

    make_all = Linker.make_all

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph; every op has `perform`, so nothing is refused."""
        kind: type[Linker | ReferenceLinker] = ReferenceLinker if self._scheduler is None else Linker
        return kind.link(self, fgraph, native_outputs)

    # A class that defines `link` must also say how its programs are kept.
    dump = ReferenceLinker.dump
    load = ReferenceLinker.load

    def _node_thunks(
        self, order: Sequence[Apply], lasting: Sequence[Variable]
    ) -> tuple[MakeNode, Callable[..., UpdatingVM]]:
        return lambda node, cells, flags: made_thunk(node, cells, flags, lasting, "py"), Loop


class VMLinker(LocalLinker, PythonLinker):
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

    def __init__(
        self,
        allow_gc: bool | None = None,
        use_cloop: bool = False,
        callback: Callable[..., object] | None = None,
        callback_input: Callable[..., object] | None = None,
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

    # A `Stack` runs the thunks where conditionals are lazy, else a `Loop`.
    make_all = Linker.make_all

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph; every op has `perform`, so nothing is refused."""
        plain = self._scheduler is None and self.callback is None and self.callback_input is None
        kind: type[Linker | PythonLinker] = PythonLinker if plain else Linker
        return kind.link(self, fgraph, native_outputs)

    # A class that defines `link` must also say how its programs are kept.
    dump = PythonLinker.dump
    load = PythonLinker.load

    def _node_thunks(
        self, order: Sequence[Apply], lasting: Sequence[Variable]
    ) -> tuple[MakeNode, Callable[..., UpdatingVM]]:
        lazy = self._is_lazy()
        if lazy is None:
            lazy = any(isinstance(node.op, IfElse) or has_own_thunk(node) for node in order)

        def make(node: Apply, cells: StorageMap, flags: Flags) -> ThunkType:
            if has_own_thunk(node) or (lazy and isinstance(node.op, IfElse)):
                return made_thunk(node, cells, flags, lasting)
            return thunk_of(node, lower_node(node), cells, flags, lasting)

        def machine(*args: Any, **options: Any) -> UpdatingVM:
            kind = Stack if lazy else Loop
            return kind(*args, callback=self.callback, callback_input=self.callback_input, **options)

        return make, machine


def _callable_or_none(name: str, hook: object) -> Any:
    if hook is not None and not callable(hook):
        msg = f"VMLinker: {name} must be a function, got {hook!r}."
        raise GraphTypeError(msg)
    return hook
