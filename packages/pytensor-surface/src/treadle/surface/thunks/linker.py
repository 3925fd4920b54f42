"""Linker: a linker of programs that also makes thunks, and can be written by saying how thunks are made."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeVar

from treadle.graph import FunctionGraph, GraphTypeError, GraphValueError, MethodNotDefinedError, memory_roots, roots_of
from treadle.link.vm import ProgramLinker, link_one_node
from treadle.surface.thunks.containers import containers, map_storage
from treadle.surface.thunks.loops import Loop
from treadle.surface.thunks.node_thunks import ProgramThunk, cells_to_free, thunk_of
from treadle.surface.thunks.thunk_program import ThunkProgram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from treadle.graph import Apply, ThunkType, Variable
    from treadle.link.vm import Program
    from treadle.surface.thunks.containers import Container, StorageMap
    from treadle.surface.thunks.loops import UpdatingVM

    Triple = tuple[Callable[[], object], list[Container], list[Container]]
    All = tuple[Any, list[Container], list[Container], list[ThunkType], list[Apply]]
    Flags = dict[Variable, list[bool]]
    # Makes the thunk of a node, given the cells and flags of all variables.
    MakeNode = Callable[[Apply, StorageMap, Flags], ThunkType]

_Self = TypeVar("_Self", bound="Linker")
# A subclass that overrides one of these, and not `link`, is linked through its thunks.
_THUNK_METHODS = ("accept", "make_thunk", "make_all")


class Linker(ProgramLinker):
    """Turns rewritten graphs into programs, or into thunks that work on storage.

    A subclass implements `link`; or, as documented, `make_thunk` or `make_all` for the graph that `accept` was given.
    Each of these works for a linker that has another one of them.

    Parameters
    ----------
    allow_gc
        Whether to free intermediate values after their last use; option ``allow_gc`` if None.
    scheduler
        Returns the nodes of a graph in the order in which they are to run; `FunctionGraph.toposort` if None.

    Attributes
    ----------
    fgraph, no_recycling, profile
        What `accept` was given.
    """

    fgraph: FunctionGraph | None = None
    no_recycling: Sequence[Variable] = ()
    profile: object = None
    _scheduler: Callable[[FunctionGraph], list[Apply]] | None = None
    # Whether thunks of graphs are made of those of their nodes.
    _links_nodes = False

    def __init__(
        self,
        *,
        allow_gc: bool | None = None,
        scheduler: Callable[[FunctionGraph], list[Apply]] | None = None,
    ) -> None:
        super().__init__(allow_gc=allow_gc)
        self._scheduler = scheduler

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Let a class that says how thunks are made, and not how programs are, have programs made of its thunks."""
        super().__init_subclass__(**kwargs)
        methods = vars(cls)
        if "link" not in methods and any(name in methods for name in _THUNK_METHODS):
            cls.link = Linker.link  # type: ignore[method-assign]  # as if it were written there

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program that runs what `make_thunk` returns (parameters as for `ProgramLinker.link`).

        Raises
        ------
        MethodNotDefinedError
            If the linker has neither `link` nor `make_thunk` nor `make_all`.
        """
        if not (self._links_nodes or self._defines("make_thunk") or self._defines("make_all")):
            msg = (
                f"{type(self).__name__}: a linker must implement link(fgraph), make_thunk() or make_all(), and has "
                "none of them."
            )
            raise MethodNotDefinedError(msg)
        lasting = [var for var in dict.fromkeys(fgraph.outputs) if var.owner is not None]
        bound: object = copy.copy(self).accept(fgraph, no_recycling=lasting, profile=self.profile)
        if not isinstance(bound, Linker):
            msg = f"{type(self).__name__}.accept: must return a linker (as a rule, self), got {bound!r}."
            raise GraphTypeError(msg)
        return ThunkProgram(fgraph, bound._triple)

    def _triple(self) -> Triple:
        triple: object = self.make_thunk()
        if not isinstance(triple, tuple) or len(triple) < 3 or not callable(triple[0]):
            msg = (
                f"{type(self).__name__}.make_thunk: must return a thunk, the input containers and the output "
                f"containers, got {triple!r}."
            )
            raise GraphTypeError(msg)
        fgraph = self._accepted()
        for what, variables, boxes in (("input", fgraph.inputs, triple[1]), ("output", fgraph.outputs, triple[2])):
            if len(boxes) != len(variables):
                msg = (
                    f"{type(self).__name__}.make_thunk: {len(variables)} {what} containers are needed, one for each "
                    f"{what} of the graph, got {len(boxes)}."
                )
                raise GraphValueError(msg)
        return triple[0], triple[1], triple[2]

    def _defines(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(Linker, method)

    def accept(
        self: _Self, fgraph: FunctionGraph, no_recycling: Iterable[Variable] | None = None, profile: object = None
    ) -> _Self:
        """Take a graph to make thunks for; return a linker of it: this one, or a copy if this one has a graph already.

        Parameters
        ----------
        fgraph
            The graph.
        no_recycling
            Variables whose values may not be overwritten by the next call: their cells are emptied before each.
        profile
            Where times are recorded, or None.

        Raises
        ------
        GraphTypeError
            If no graph is given.
        """
        unchecked: object = fgraph
        if not isinstance(unchecked, FunctionGraph):
            msg = f"{type(self).__name__}.accept: a FunctionGraph is needed, got {unchecked!r}."
            raise GraphTypeError(msg)
        if self.fgraph is not None and self.fgraph is not fgraph:
            other = copy.copy(self)
            other.fgraph = None
            return other.accept(fgraph, no_recycling, profile)
        self.fgraph = fgraph
        self.no_recycling = list(no_recycling or ())
        self.profile = profile
        return self

    def clone(self: _Self, allow_gc: bool | None = None) -> _Self:
        """Return a linker of this kind without a graph.

        Parameters
        ----------
        allow_gc
            Whether its programs free intermediate values; as this one's do if None.
        """
        new = super().clone(allow_gc)
        new.fgraph, new.no_recycling, new.profile = None, (), None
        return new

    def schedule(self, fgraph: FunctionGraph) -> list[Apply]:
        """Return the nodes of a graph in the order in which they run."""
        return list(fgraph.toposort() if self._scheduler is None else self._scheduler(fgraph))

    def make_thunk(
        self,
        input_storage: Sequence[object] | None = None,
        output_storage: Sequence[object] | None = None,
        storage_map: StorageMap | None = None,
        **kwargs: object,
    ) -> Triple:
        """Return a thunk for the accepted graph, and the containers that it takes inputs from and puts outputs into.

        Parameters
        ----------
        input_storage, output_storage
            Cells or containers to use for inputs and outputs; new ones if None.
        storage_map
            Cells of variables to use.
        kwargs
            For subclasses.

        Raises
        ------
        GraphValueError
            If the linker has not accepted a graph, or the cells do not fit it.

        Examples
        --------
        >>> import treadle.tensor as tt
        >>> x, y = tt.dscalar("x"), tt.dscalar("y")
        >>> from treadle.graph import FunctionGraph
        >>> from treadle.link.vm import PerformLinker
        >>> linker = PerformLinker().accept(FunctionGraph([x, y], [x + y]))
        >>> thunk, (x_box, y_box), (sum_box,) = linker.make_thunk()
        >>> x_box.data, y_box.data = 1.0, 2.0
        >>> _ = thunk()
        >>> float(sum_box.data)
        3.0
        """
        if self._links_nodes or self._defines("make_all"):
            linked = self.make_all(input_storage, output_storage, storage_map, **kwargs)
            return linked[0], linked[1], linked[2]
        fgraph = self._accepted()
        inputs, outputs, cells = map_storage(fgraph, (), input_storage, output_storage, storage_map)
        thunk = ProgramThunk(self.link(fgraph), fgraph, inputs, outputs, cells)
        return thunk, containers(fgraph.inputs, inputs), containers(fgraph.outputs, outputs)

    def make_all(
        self,
        input_storage: Sequence[object] | None = None,
        output_storage: Sequence[object] | None = None,
        storage_map: StorageMap | None = None,
        **kwargs: object,
    ) -> All:
        """Return the results of `make_thunk`, the thunks of all nodes, and the nodes in order.

        By default each node is a program of this linker by itself; one that it refuses runs in Python.
        """
        fgraph = self._accepted()
        order = self.schedule(fgraph)
        inputs, outputs, cells = map_storage(fgraph, order, input_storage, output_storage, storage_map)
        graph_inputs = set(fgraph.inputs)
        flags = {var: [var.owner is None or var in graph_inputs] for var in cells}
        roots = memory_roots(fgraph.toposort())
        # Values that must last, and those that have the memory of such.
        lasting = dict.fromkeys(self.no_recycling)
        lasting.update((root, None) for var in self.no_recycling for root in roots_of(var, roots))
        make, machine_kind = self._node_thunks(order, list(lasting))
        thunks = [make(node, cells, flags) for node in order]
        free = self._frees()
        machine = machine_kind(
            fgraph,
            order,
            thunks,
            [cells[var] for var in lasting if var in cells and var.owner is not None],
            cells,
            inputs,
            outputs,
            {fgraph.inputs[i]: fgraph.outputs[o] for o, i in (fgraph.update_mapping or {}).items()},
            compute_map=flags,
            allow_gc=free,
            dying=cells_to_free(fgraph, order, cells) if free else None,
        )
        machine.time_thunks = self.profile is not None
        return machine, containers(fgraph.inputs, inputs), containers(fgraph.outputs, outputs), thunks, order

    def _node_thunks(
        self, order: Sequence[Apply], lasting: Sequence[Variable]
    ) -> tuple[MakeNode, Callable[..., UpdatingVM]]:
        """Return for `make_all` the maker of nodes' thunks, and the class of the VM; `lasting` must not be reused."""

        def make(node: Apply, cells: StorageMap, flags: Flags) -> ThunkType:
            return thunk_of(node, link_one_node(node, self), cells, flags, self.no_recycling)

        return make, Loop

    def _accepted(self) -> FunctionGraph:
        if self.fgraph is None:
            msg = f"{type(self).__name__}: it has no graph yet. Call accept(fgraph) first."
            raise GraphValueError(msg)
        return self.fgraph


class LocalLinker(Linker):
    """A linker whose way to work is one thunk for each node: a subclass implements `make_all`."""

    _links_nodes = True

    def make_all(
        self,
        input_storage: Sequence[object] | None = None,
        output_storage: Sequence[object] | None = None,
        storage_map: StorageMap | None = None,
        **kwargs: object,
    ) -> All:
        """Return a thunk for the accepted graph, containers, the nodes' thunks and the nodes.

        Raises
        ------
        MethodNotDefinedError
            If the subclass does not implement it.
        """
        msg = (
            f"{type(self).__name__}: a LocalLinker must implement make_all, which returns a thunk, input containers, "
            "output containers, the thunks of the nodes and the nodes."
        )
        raise MethodNotDefinedError(msg)
