"""Linker: what turns graphs into programs, or into thunks on storage."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeVar

from treadle.config import config
from treadle.graph import FunctionGraph, GraphTypeError, GraphValueError, MethodNotDefinedError, memory_roots, roots_of
from treadle.link.vm.exporting import ExportUnsupportedError
from treadle.link.vm.stepping import link_one_node
from treadle.link.vm.thunks.containers import containers, map_storage
from treadle.link.vm.thunks.loops import Loop
from treadle.link.vm.thunks.node_thunks import ProgramThunk, cells_to_free, thunk_of
from treadle.link.vm.thunks.thunk_program import ThunkProgram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from treadle.graph import Apply, ThunkType, Variable
    from treadle.link.vm.exporting import ExportRequest
    from treadle.link.vm.interface import Program
    from treadle.link.vm.program_graph import ProgramGraph
    from treadle.link.vm.thunks.containers import Container, StorageMap

    Triple = tuple[Callable[[], Any], list[Container], list[Container]]

_Self = TypeVar("_Self", bound="Linker")
# A subclass that overrides one of these, and not `link`, is linked through its thunks.
_THUNK_METHODS = ("accept", "make_thunk", "make_all")


class Linker:
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
    required_rewrites, incompatible_rewrites
        Tags of rewrites that a mode with this linker adds, and those that it leaves out.
    capabilities
        As of a `Backend`, for a mode that is given the linker itself.
    acts_at_nodes
        Whether programs do something at each node beside computing it, such as calling hooks or checking values. A
        profile then times them as a whole, and leaves the nodes alone.
    fgraph, no_recycling, profile
        What `accept` was given.
    """

    required_rewrites: tuple[str, ...] = ("minimum_compile",)
    incompatible_rewrites: tuple[str, ...] = ()
    capabilities: frozenset[str] = frozenset()
    acts_at_nodes: bool = False
    allow_gc: bool | None = None
    fgraph: FunctionGraph | None = None
    no_recycling: Sequence[Variable] = ()
    profile: Any = None
    _scheduler: Callable[[FunctionGraph], list[Apply]] | None = None

    def __init__(
        self,
        *,
        allow_gc: bool | None = None,
        scheduler: Callable[[FunctionGraph], list[Apply]] | None = None,
    ) -> None:
        self.allow_gc = allow_gc
        self._scheduler = scheduler

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let a class that says how thunks are made, and not how programs are, have programs made of its thunks."""
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        if "link" not in own and any(name in own for name in _THUNK_METHODS):
            cls.link = Linker.link  # type: ignore[method-assign]  # as if it were written there

    # Programs

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph; by default, one that runs what `make_thunk` returns.

        Parameters
        ----------
        fgraph
            The graph; it must not be changed afterwards. Its shared variables are among its inputs.
        native_outputs
            Positions of outputs to return in the backend's own form: new values of shared variables, and those
            wrapped in ``Out(borrow=True)``. Backends whose own form is the host's ignore it.

        Raises
        ------
        LoweringError
            If there are nodes the backend cannot lower; all are listed.
        MethodNotDefinedError
            If the linker has neither `link` nor `make_thunk` nor `make_all`.
        """
        del native_outputs
        if not (self._defines("make_thunk") or self._defines("make_all")):
            msg = (
                f"{type(self).__name__}: a linker must implement link(fgraph), make_thunk() or make_all(), and has "
                "none of them."
            )
            raise MethodNotDefinedError(msg)
        lasting = [var for var in dict.fromkeys(fgraph.outputs) if var.owner is not None]
        bound: Any = copy.copy(self).accept(fgraph, no_recycling=lasting, profile=self.profile)
        if not isinstance(bound, Linker):
            msg = f"{type(self).__name__}.accept: must return a linker (as a rule, self), got {bound!r}."
            raise GraphTypeError(msg)
        return ThunkProgram(fgraph, bound._triple)

    def export(self, fgraph: FunctionGraph, request: ExportRequest, directory: Path) -> Path:
        """Write the graph as a library for programs without Python; return the file that describes it.

        Raises
        ------
        ExportUnsupportedError
            By default: if the backend cannot.
        """
        del fgraph, request, directory
        msg = f"{type(self).__name__}: this backend cannot export functions. Compile the function in mode C."
        raise ExportUnsupportedError(msg)

    # For the compile cache: a linker that implements both is spared linking where an equal graph was linked before.

    def dump(self, program: Program) -> Any:
        """Return what `load` needs to make a program of `link` again, in another process.

        Returns
        -------
        Anything that pickles. It may hold variables, nodes, constants, types and ops of the program's graph, and the
        graph itself: what the user gave, and the lines of the user's program, are not stored with it, but taken from
        the equal graph at hand. None, the default, if the program cannot be kept.
        """
        del program

    def load(self, data: Any, graph: ProgramGraph) -> Program:
        """Return the program that `dump` was given, without generating or compiling anything.

        Parameters
        ----------
        data
            What `dump` returned.
        graph
            Types of inputs and outputs; and the rewritten graph, if it is needed after all.

        Raises
        ------
        Exception
            Of any kind, if that is not possible: the graph is then linked.
        """
        del graph
        msg = f"{type(self).__name__}.load: cannot load {type(data).__name__}. Override it together with `dump`."
        raise MethodNotDefinedError(msg)

    def _triple(self) -> Triple:
        made: Any = self.make_thunk()
        if not isinstance(made, tuple) or len(made) < 3 or not callable(made[0]):
            msg = (
                f"{type(self).__name__}.make_thunk: must return a thunk, the input containers and the output "
                f"containers, got {made!r}."
            )
            raise GraphTypeError(msg)
        fgraph = self._accepted()
        for what, wanted, given in (("input", fgraph.inputs, made[1]), ("output", fgraph.outputs, made[2])):
            if len(given) != len(wanted):
                msg = (
                    f"{type(self).__name__}.make_thunk: {len(wanted)} {what} containers are needed, one for each "
                    f"{what} of the graph, got {len(given)}."
                )
                raise GraphValueError(msg)
        return made[0], made[1], made[2]

    def _defines(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(Linker, method)

    # Thunks

    def accept(
        self: _Self, fgraph: FunctionGraph, no_recycling: Iterable[Variable] | None = None, profile: Any = None
    ) -> _Self:
        """Take a graph to make thunks for; return a linker of it: this one, or a copy if this one has a graph already.

        Parameters
        ----------
        fgraph
            The graph.
        no_recycling
            Variables whose values may not be overwritten by the next call: their cells are emptied before each.
        profile
            Where times are told, or None.

        Raises
        ------
        GraphTypeError
            If no graph is given.
        """
        _check_graph(type(self).__name__, fgraph)
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
        new = copy.copy(self)
        new.fgraph, new.no_recycling, new.profile = None, (), None
        if allow_gc is not None:
            new.allow_gc = allow_gc
        return new

    def schedule(self, fgraph: FunctionGraph) -> list[Apply]:
        """Return the nodes of a graph in the order in which they run."""
        return list(fgraph.toposort() if self._scheduler is None else self._scheduler(fgraph))

    def make_thunk(
        self,
        input_storage: Sequence[Any] | None = None,
        output_storage: Sequence[Any] | None = None,
        storage_map: StorageMap | None = None,
        **kwargs: Any,
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
        if self._defines("make_all"):
            made = self.make_all(input_storage, output_storage, storage_map, **kwargs)
            return made[0], made[1], made[2]
        fgraph = self._accepted()
        inputs, outputs, known = map_storage(fgraph, (), input_storage, output_storage, storage_map)
        thunk = ProgramThunk(self.link(fgraph), fgraph, inputs, outputs, known)
        return thunk, containers(fgraph.inputs, inputs), containers(fgraph.outputs, outputs)

    def make_all(
        self,
        input_storage: Sequence[Any] | None = None,
        output_storage: Sequence[Any] | None = None,
        storage_map: StorageMap | None = None,
        **kwargs: Any,
    ) -> tuple[Any, list[Container], list[Container], list[Any], list[Apply]]:
        """Return what `make_thunk` does, the thunks of all nodes, and the nodes in order.

        By default each node is a program of this linker by itself; one that it refuses runs in Python.
        """
        del kwargs

        def make(node: Apply, known: StorageMap, flags: dict[Variable, list[bool]]) -> ThunkType:
            return thunk_of(node, link_one_node(node, self), known, flags, self.no_recycling)

        return self._make_all(make, input_storage, output_storage, storage_map)

    def _accepted(self) -> FunctionGraph:
        if self.fgraph is None:
            msg = f"{type(self).__name__}: it has no graph yet. Call accept(fgraph) first."
            raise GraphValueError(msg)
        return self.fgraph

    def _make_all(
        self,
        make: Callable[[Apply, StorageMap, dict[Variable, list[bool]]], Any],
        input_storage: Sequence[Any] | None,
        output_storage: Sequence[Any] | None,
        storage_map: StorageMap | None,
        vm: Callable[..., Any] = Loop,
    ) -> tuple[Any, list[Container], list[Container], list[Any], list[Apply]]:
        """Return what `make_all` does, with thunks from `make` run by a VM."""
        fgraph = self._accepted()
        order = self.schedule(fgraph)
        inputs, outputs, known = map_storage(fgraph, order, input_storage, output_storage, storage_map)
        given = set(fgraph.inputs)
        flags = {var: [var.owner is None or var in given] for var in known}
        thunks = [make(node, known, flags) for node in order]
        free = self._frees()
        machine = vm(
            fgraph,
            order,
            thunks,
            [known[var] for var in self._lasting() if var in known and var.owner is not None],
            known,
            inputs,
            outputs,
            {fgraph.inputs[i]: fgraph.outputs[o] for o, i in (fgraph.update_mapping or {}).items()},
            compute_map=flags,
            allow_gc=free,
            dying=cells_to_free(fgraph, order, known) if free else None,
        )
        machine.time_thunks = self.profile is not None
        return machine, containers(fgraph.inputs, inputs), containers(fgraph.outputs, outputs), thunks, order

    def _frees(self) -> bool:
        return bool(config.allow_gc if self.allow_gc is None else self.allow_gc)

    def _lasting(self) -> list[Variable]:
        """Return the variables whose values must last, and those that have the memory of such."""
        roots = memory_roots(self._accepted().toposort())
        lasting = dict.fromkeys(self.no_recycling)
        lasting.update((root, None) for var in self.no_recycling for root in roots_of(var, roots))
        return list(lasting)


def _check_graph(who: str, given: Any) -> None:
    if not isinstance(given, FunctionGraph):
        msg = f"{who}.accept: a FunctionGraph is needed, got {given!r}."
        raise GraphTypeError(msg)


class LocalLinker(Linker):
    """A linker whose way to work is one thunk for each node: a subclass implements `make_all`."""

    def make_thunk(
        self,
        input_storage: Sequence[Any] | None = None,
        output_storage: Sequence[Any] | None = None,
        storage_map: StorageMap | None = None,
        **kwargs: Any,
    ) -> Triple:
        """Return the first three of what `make_all` does."""
        made = self.make_all(input_storage, output_storage, storage_map, **kwargs)
        return made[0], made[1], made[2]

    def make_all(
        self,
        input_storage: Sequence[Any] | None = None,
        output_storage: Sequence[Any] | None = None,
        storage_map: StorageMap | None = None,
        **kwargs: Any,
    ) -> tuple[Any, list[Container], list[Container], list[Any], list[Apply]]:
        """Return a thunk for the accepted graph, containers, the nodes' thunks and the nodes.

        Raises
        ------
        MethodNotDefinedError
            If the subclass does not implement it.
        """
        del input_storage, output_storage, storage_map, kwargs
        msg = (
            f"{type(self).__name__}: a LocalLinker must implement make_all, which returns a thunk, input containers, "
            "output containers, the thunks of the nodes and the nodes."
        )
        raise MethodNotDefinedError(msg)
