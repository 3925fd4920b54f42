"""ProgramLinker: what turns graphs into programs."""

from __future__ import annotations

import copy
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar

from treadle.config import config, discover
from treadle.graph import MethodNotDefinedError
from treadle.link.vm.interface import ExportUnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from treadle.graph import Apply, FunctionGraph, Type, Value
    from treadle.link.vm.interface import ExportRequest, Program, ProgramGraph


_Self = TypeVar("_Self", bound="ProgramLinker")
# The entry-point group of the methods that other distributions give to linkers.
METHODS = "treadle.linker_methods"


class ProgramLinker:
    """Turns rewritten graphs into programs; a subclass implements `link`.

    Other distributions may give linkers further methods: an entry point of the group ``treadle.linker_methods`` has the
    name of the method, and stands for a function whose first argument is the linker.

    Parameters
    ----------
    allow_gc
        Whether to free intermediate values after their last use; option ``allow_gc`` if None.

    Attributes
    ----------
    required_rewrites, incompatible_rewrites
        Tags of rewrites that a mode with this linker adds, and those that it leaves out.
    capabilities
        As of a `Backend`, for a mode that is given the linker itself.
    acts_at_nodes
        Whether programs do something at each node beside computing it, such as calling hooks or checking values. A
        profile then times them as a whole, and leaves the nodes alone.
    device_outputs
        Whether functions return all their outputs in the backend's own form, such as arrays on a device.
    """

    required_rewrites: tuple[str, ...] = ("minimum_compile",)
    incompatible_rewrites: tuple[str, ...] = ()
    capabilities: frozenset[str] = frozenset()
    acts_at_nodes: bool = False
    device_outputs: bool = False
    allow_gc: bool | None = None

    def __init__(self, *, allow_gc: bool | None = None) -> None:
        self.allow_gc = allow_gc

    def clone(self: _Self, allow_gc: bool | None = None) -> _Self:
        """Return a linker of this kind.

        Parameters
        ----------
        allow_gc
            Whether its programs free intermediate values; as this one's do if None.
        """
        new = copy.copy(self)
        if allow_gc is not None:
            new.allow_gc = allow_gc
        return new

    def on_devices(self: _Self, named: Sequence[tuple[str, str]]) -> _Self:
        """Return the linker for a function whose shared variables name devices; this one if programs run on the host.

        Parameters
        ----------
        named
            The names of the variables, each with that of its device.
        """
        del named
        return self

    def plain_argument(self, value: Value) -> Value:
        """Return an argument of a call without what its library attaches to it and programs take no part in.

        By default the argument itself. What is returned is then converted to the type of its input.
        """
        return value

    def draws_otherwise(self, types: Iterable[Type]) -> bool:
        """Whether random numbers that programs draw from values of some of the types are not the Python VM's.

        By default they are the same.
        """
        del types
        return False

    def foresee(self, nodes: Sequence[Apply]) -> None:
        """Begin in the background what a machine lacks on which nothing was compiled yet, before the cache is asked.

        By default there is nothing. It raises no errors.

        Parameters
        ----------
        nodes
            The nodes of the graph before it is rewritten.
        """

    def anticipate(self, fgraph: FunctionGraph) -> None:
        """Begin in the background what linking will probably need, for a graph that is rewritten first.

        By default there is nothing. It raises no errors: those come when the graph is linked.
        """

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph.

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
            If the linker does not implement it.
        """
        msg = (
            f"{type(self).__name__}: a linker must implement link(fgraph), and does not. Return a program for the "
            "graph from it."
        )
        raise MethodNotDefinedError(msg)

    def export(self, fgraph: FunctionGraph, request: ExportRequest, directory: Path) -> Path:
        """Write the graph as a library for programs without Python; return the file that describes it.

        Raises
        ------
        ExportUnsupportedError
            By default: if the backend cannot.
        """
        msg = f"{type(self).__name__}: this backend cannot export functions. Compile the function in mode C."
        raise ExportUnsupportedError(msg)

    # For the compile cache: a linker that implements both is spared linking where an equal graph was linked before.

    def dump(self, program: Program) -> object:
        """Return what `load` needs to make a program of `link` again, in another process.

        Returns
        -------
        Anything that pickles. It may hold variables, nodes, constants, types and ops of the program's graph, and the
        graph itself: what the user gave, and the lines of the user's program, are not stored with it, but taken from
        the equal graph at hand. None, the default, if the program cannot be kept.
        """
        return None

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
        msg = f"{type(self).__name__}.load: cannot load {type(data).__name__}. Override it together with `dump`."
        raise MethodNotDefinedError(msg)

    def _frees(self) -> bool:
        return bool(config.allow_gc if self.allow_gc is None else self.allow_gc)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return a method that an installed distribution gives to linkers."""
            entry = None if name.startswith("_") else discover(METHODS).get(name)
            if entry is None:
                msg = f"{type(self).__name__!r} object has no attribute {name!r}"
                raise AttributeError(msg)
            return MethodType(entry.load(), self)
