"""Linkers made of other linkers: with a function around every node, or with one backend for each node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import GraphTypeError, GraphValueError
from treadle.link.vm import ProgramLinker
from treadle.surface.thunks.containers import cell_of
from treadle.surface.thunks.linker import Linker
from treadle.surface.thunks.node_thunks import raise_with_op
from treadle.surface.thunks.of_programs import accept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, Cell, FunctionGraph, ThunkType
    from treadle.surface.thunks.containers import Container, StorageMap


class WrapLinker(Linker):
    """Runs linkers side by side, one node at a time, with a function that says what is done at each node.

    Parameters
    ----------
    linkers
        The linkers; each makes a thunk for every node, in the same order. Inputs are given to the first, and copied
        for the others; results are the first one's.
    wrapper
        Is called as ``wrapper(fgraph, i, node, thunk, …)`` for the node of number `i`, with a thunk of each linker:
        it runs them, compares or prints. A thunk has the attributes ``inputs`` and ``outputs``, lists of cells.

    Raises
    ------
    GraphTypeError
        If `linkers` is no list of linkers, or `wrapper` no function.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> from treadle.graph import FunctionGraph
    >>> from treadle.link.vm import PerformLinker
    >>> def show(fgraph, i, node, thunk):
    ...     thunk()
    ...     print(i, [float(cell[0]) for cell in thunk.outputs])
    >>> x = tt.dscalar("x")
    >>> linker = WrapLinker([PerformLinker()], show).accept(FunctionGraph([x], [x + x]))
    >>> thunk, (x_box,), _ = linker.make_thunk()
    >>> x_box.data = 2.0
    >>> thunk()
    0 [4.0]
    """

    acts_at_nodes = True

    def __init__(self, linkers: Sequence[ProgramLinker], wrapper: Callable[..., object]) -> None:
        super().__init__()
        _check(type(self).__name__, linkers, wrapper)
        self.linkers = list(linkers)
        self.wrapper = wrapper
        self.required_rewrites = tuple(dict.fromkeys(tag for k in linkers for tag in k.required_rewrites))
        self.incompatible_rewrites = tuple(dict.fromkeys(tag for k in linkers for tag in k.incompatible_rewrites))
        self.capabilities = frozenset.intersection(*(k.capabilities for k in linkers))

    def clone(self, allow_gc: bool | None = None) -> WrapLinker:
        """Return a linker of this kind without a graph, made of clones."""
        new = super().clone(allow_gc)
        new.linkers = [linker.clone(allow_gc) for linker in self.linkers]
        return new

    def pre(
        self, wrap_linker: WrapLinker, inputs: Sequence[object], order: Sequence[Apply], thunk_groups: object
    ) -> None:
        """Called before the first node of each call, with the inputs' values; does nothing unless overridden."""

    def make_thunk(
        self,
        input_storage: Sequence[object] | None = None,
        output_storage: Sequence[object] | None = None,
        storage_map: StorageMap | None = None,
        **kwargs: object,
    ) -> tuple[Callable[[], object], list[Container], list[Container]]:
        """Return a thunk for the accepted graph, and the containers of the first linker.

        Raises
        ------
        GraphValueError
            If the linkers do not run the nodes in the same order.
        """
        fgraph = self._accepted()
        bound = [accept(linker.clone(), fgraph, self.no_recycling, self.profile) for linker in self.linkers]
        linked = [bound[0].make_all(input_storage, output_storage, storage_map, **kwargs)]
        linked += [linker.make_all(None, None, None, **kwargs) for linker in bound[1:]]
        order = linked[0][4]
        if any(list(other[4]) != list(order) for other in linked[1:]):
            msg = f"{type(self).__name__}: all linkers must run the nodes in one order. Give them the same scheduler."
            raise GraphValueError(msg)
        groups = list(zip(*(m[3] for m in linked), strict=True))
        run = _Wrapped(self, fgraph, order, groups, [[cell_of(c) for c in m[1]] for m in linked], linked[0])
        return run, linked[0][1], linked[0][2]


def _check(name: str, linkers: object, wrapper: object) -> None:
    if not isinstance(linkers, list | tuple) or not linkers or not all(isinstance(k, ProgramLinker) for k in linkers):
        msg = f"{name}: a list of one linker or more is needed, got {linkers!r}."
        raise GraphTypeError(msg)
    if not callable(wrapper):
        msg = f"{name}: the wrapper must be a function (fgraph, i, node, *thunks), got {wrapper!r}."
        raise GraphTypeError(msg)


class _Wrapped:
    """The thunk of a WrapLinker."""

    def __init__(
        self,
        linker: WrapLinker,
        fgraph: FunctionGraph,
        order: Sequence[Apply],
        thunk_groups: Sequence[tuple[ThunkType, ...]],
        inputs: Sequence[Sequence[Cell]],
        first: Any,
    ) -> None:
        self.linker = linker
        self.fgraph = fgraph
        self.order = order
        self.thunk_groups = thunk_groups
        self.inputs = inputs
        # The last step of the first linker's own thunk: copies of outputs that are inputs or named twice.
        self.finish = getattr(first[0], "copy_spare_outputs", None)
        lasting = set(linker.no_recycling)
        self.emptied = [
            thunk.outputs[j]
            for thunks, node in zip(thunk_groups, order, strict=True)
            for j, out in enumerate(node.outputs)
            if out in lasting
            for thunk in thunks
        ]

    def __call__(self) -> None:
        """Compute the outputs, through the wrapper."""
        copies = [var.type.copy_value for var in self.fgraph.inputs]
        for targets in self.inputs[1:]:
            for copy, source, target in zip(copies, self.inputs[0], targets, strict=True):
                target[0] = copy(source[0])
        for cell in self.emptied:
            cell[0] = None
        self.linker.pre(self.linker, [cell[0] for cell in self.inputs[0]], self.order, self.thunk_groups)
        for i, (thunks, node) in enumerate(zip(self.thunk_groups, self.order, strict=True)):
            try:
                self.linker.wrapper(self.fgraph, i, node, *thunks)
            except Exception:  # noqa: BLE001 - whatever it is, it is raised again with the node's name
                raise_with_op(self.fgraph, node, thunks[0])
        if self.finish is not None:
            self.finish()


class WrapLinkerMany(WrapLinker):
    """A `WrapLinker` with several functions, called one after the other at each node.

    Parameters
    ----------
    linkers
        As for `WrapLinker`.
    wrappers
        The functions.
    """

    def __init__(self, linkers: Sequence[ProgramLinker], wrappers: Sequence[Callable[..., object]]) -> None:
        functions = list(wrappers)

        def call_all(*args: object) -> None:
            for function in functions:
                function(*args)

        super().__init__(linkers, call_all)
        self.wrappers = functions
