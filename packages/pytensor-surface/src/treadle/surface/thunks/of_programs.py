"""Thunks of linkers that only make programs: what `accept` of such a linker returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from treadle.graph import GraphValueError
from treadle.link.vm import NodewiseLinker, link_one_node
from treadle.surface.thunks.linker import Linker
from treadle.surface.thunks.loops import Loop
from treadle.surface.thunks.node_thunks import thunk_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from treadle.graph import Apply, FunctionGraph, ThunkType, Variable
    from treadle.link.vm import Program, ProgramLinker
    from treadle.surface.thunks.containers import StorageMap
    from treadle.surface.thunks.linker import Flags, MakeNode
    from treadle.surface.thunks.loops import UpdatingVM


class ThunksOf(Linker):
    """Makes thunks of the programs of another linker: of whole graphs, and in `make_all` of single nodes.

    If that linker has a ``scheduler``, the nodes run in the order that it gives.
    """

    def __init__(self, linker: ProgramLinker) -> None:
        super().__init__(allow_gc=linker.allow_gc, scheduler=vars(linker).get("scheduler"))
        self.linker = linker
        self.required_rewrites = linker.required_rewrites
        self.incompatible_rewrites = linker.incompatible_rewrites
        self.capabilities = linker.capabilities

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return the other linker's program (parameters and errors are its)."""
        return self.linker.link(fgraph, native_outputs)


class ThunksOfNodes(ThunksOf):
    """Makes thunks of what a `NodewiseLinker` makes of each node."""

    linker: NodewiseLinker
    _links_nodes = True

    def _node_thunks(
        self, order: Sequence[Apply], lasting: Sequence[Variable]
    ) -> tuple[MakeNode, Callable[..., UpdatingVM]]:
        nodewise = self.linker

        def make(node: Apply, cells: StorageMap, flags: Flags) -> ThunkType:
            run = nodewise.wrap(node, link_one_node(node, nodewise.linker))
            return thunk_of(node, run, cells, flags, self.no_recycling)

        return make, Loop


def accept(
    linker: ProgramLinker,
    fgraph: FunctionGraph,
    no_recycling: Iterable[Variable] | None = None,
    profile: object = None,
) -> Linker:
    """Return a linker that makes thunks of a linker's programs, with a graph (parameters as for `Linker.accept`)."""
    if isinstance(linker, Linker):
        return linker.accept(fgraph, no_recycling, profile)
    kind = ThunksOfNodes if isinstance(linker, NodewiseLinker) else ThunksOf
    return kind(linker).accept(fgraph, no_recycling, profile)


def schedule(linker: ProgramLinker, fgraph: FunctionGraph) -> list[Apply]:
    """Return the nodes of a graph in the order in which they run."""
    return ThunksOf(linker).schedule(fgraph)


def needs_graph(linker: ProgramLinker, *storage: object, **kwargs: object) -> NoReturn:
    """Refuse to make thunks of a linker without a graph."""
    del storage, kwargs
    msg = f"{type(linker).__name__}: it has no graph yet. Call accept(fgraph) first, and make_thunk of what it returns."
    raise GraphValueError(msg)
