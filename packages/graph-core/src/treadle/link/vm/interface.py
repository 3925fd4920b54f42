"""The interface of backends: a linker turns graphs into Programs, and is declared as a Backend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field
from sys import getrefcount
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from treadle.config import dataclass, discover, new_lock
from treadle.graph import GraphError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.graph import FunctionGraph, Type, Value, Variable
    from treadle.link.vm.linker import ProgramLinker

    Lengths = Callable[[Callable[[Sequence[Variable]], Sequence[Variable]]], FunctionGraph]
    from treadle.graph import FunctionGraph


T = TypeVar("T")
# The entry-point group of the attributes that other distributions give to programs.
ATTRIBUTES = "treadle.program_attributes"


class Later(Generic[T]):
    """A value that calls do not need, and that is loaded when it is first asked for, such as from the compile cache.

    Parameters
    ----------
    load
        Returns the value; called at most once.

    Examples
    --------
    >>> Later(lambda: "text").get()
    'text'
    """

    __slots__ = ("_load", "_lock", "_value")

    def __init__(self, load: Callable[[], T]) -> None:
        self._load: Callable[[], T] | None = load
        self._value: T | None = None
        self._lock = new_lock()

    @classmethod
    def of(cls, value: T) -> Later[T]:
        """Return one whose value is loaded already."""
        later = cls(lambda: value)
        later.get()
        return later

    def __reduce__(self) -> tuple[object, ...]:
        return Later.of, (self.get(),)

    def get(self) -> T:
        """Return the value."""
        if self._load is not None:
            with self._lock:
                if self._load is not None:
                    self._value = self._load()
                    self._load = None
        value: T = self._value  # type: ignore[assignment]  # loaded above
        return value


class OwnReferences:
    """How many references there are to a value that nobody holds but its cell and a call that is about to replace it.

    `sys.getrefcount` is compared with it: a value with more references is held by somebody else, too.

    Parameters
    ----------
    calls
        How many calls below the caller, which has the value in a local variable, they are counted; with 0, by the
        caller itself, of the value as it is in the cell.

    Examples
    --------
    >>> OwnReferences(2)() > OwnReferences(1)() > 0 and OwnReferences(0)() > 0
    True
    """

    __slots__ = ("_caller",)

    def __init__(self, calls: int) -> None:
        cell = [object()]

        def called(value: object, calls: int) -> int:
            return getrefcount(value) if calls == 1 else called(value, calls - 1)

        def caller() -> int:
            value = cell[0]
            return called(value, calls) if calls else getrefcount(cell[0])

        self._caller = caller

    def __call__(self) -> int:
        """Return the number, found out by such calls.

        It depends on the version of Python, and on how frames are evaluated, which PyTorch's compiler changes while
        a process runs: nothing may be remembered, but what the caller counts itself (tried inside what it compiles).
        """
        return self._caller()


@dataclass(frozen=True, slots=True)
class UpdatingText:
    """The text of a caller that holds the locks of shared variables, for a program that adds statements to it.

    These go before the call of the program, in a function with a program that updates all its shared variables itself.

    Parameters
    ----------
    values
        Names of the local variables that hold the program's inputs.
    cells
        Of inputs that are read from cells, by position: the expression of the value in the cell.
    writes
        Turns the expressions of all outputs into the statements that put new values among them into their cells. They
        call nothing.
    result
        Turns the expressions of all outputs into that of what the caller returns.
    scope
        What the text names: the program may add names, and change their values later.
    lines
        The statements, which the program adds. What they do not compute themselves, they leave to the call.
    """

    values: Sequence[str]
    cells: Mapping[int, str]
    writes: Callable[[Sequence[str]], Sequence[str]]
    result: Callable[[Sequence[str]], str]
    scope: dict[str, object]
    lines: list[str] = field(default_factory=list)


class ProgramGraph:
    """The rewritten graph of a program, loaded when it is first asked for.

    A program that came out of the compile cache runs without it; errors and printing ask for it.

    Parameters
    ----------
    inputs, outputs
        Types of the graph's inputs and outputs.
    native_outputs
        Positions of outputs that are returned in the backend's own form.
    load
        Returns the graph; called at most once.
    """

    __slots__ = ("_graph", "inputs", "native_outputs", "outputs")

    def __init__(
        self,
        inputs: Sequence[Type],
        outputs: Sequence[Type],
        native_outputs: frozenset[int],
        load: Callable[[], FunctionGraph],
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.native_outputs = native_outputs
        self._graph = Later(load)

    @classmethod
    def of(cls, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> ProgramGraph:
        """Return one for a graph that is loaded already."""
        return cls([v.type for v in fgraph.inputs], [v.type for v in fgraph.outputs], native_outputs, lambda: fgraph)

    def get(self) -> FunctionGraph:
        """Return the graph."""
        return self._graph.get()

    def changed(self, change: Callable[[FunctionGraph], FunctionGraph]) -> ProgramGraph:
        """Return the same for what a function makes of the graph, once that is asked for."""
        return ProgramGraph(self.inputs, self.outputs, self.native_outputs, lambda: change(self.get()))


class ExportUnsupportedError(GraphError, NotImplementedError):
    """The backend cannot write graphs as libraries."""


@dataclass(frozen=True, slots=True)
class ExportedInput:
    """An input of the graph, as the library's user sees it.

    Parameters
    ----------
    name
        Its name; unique.
    role
        ``"input"``, ``"default"`` (an input with a value of its own) or ``"state"`` (a shared variable).
    value
        Its value at the time of the export, or None.
    """

    name: str
    role: str
    value: Value = None


@dataclass(frozen=True, slots=True)
class ExportedOutput:
    """An output of the graph.

    Parameters
    ----------
    name
        Its name; unique.
    updates
        Name of the input whose new value it is, or None.
    """

    name: str
    updates: str | None = None


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """Names and roles of a graph's inputs and outputs, in the graph's order.

    Parameters
    ----------
    name
        Name of the function: prefix of what the library defines.
    inputs, outputs
        Their names and roles.
    lengths
        Takes a function that makes expressions of the expressions of the outputs, and returns the graph of what it
        makes, made of the graph before rewriting and rewritten on its own: for what needs less than the outputs, such
        as their lengths. None where there is no graph before rewriting.
    """

    name: str
    inputs: tuple[ExportedInput, ...]
    outputs: tuple[ExportedOutput, ...]
    lengths: Lengths | None = None


class Program(ABC):
    """An immutable callable, values in, values out; it keeps no state between or during calls.

    Attributes
    ----------
    host
        True: takes and returns host values (NumPy arrays, for tensors). False: takes host values or this backend's
        own ones, and returns host values except for the outputs that were asked for in native form.
    writes
        What the caller of the program writes afterwards, where new values are written into old ones; else None.
    whole
        For a program of a linker that replaces ops by simpler ones: that linker, and the graph that it was given.
    compiles_in_calls
        Whether its library compiles when it is called, for the lengths of the arguments. A call then does nothing but
        compute: one may be made for the sake of what it compiles.

    Other distributions may give programs further attributes: an entry point of the group ``treadle.program_attributes``
    has the name of the attribute, and stands for a function from a program to its value.
    """

    host: bool = True
    writes: Any = None
    whole: tuple[ProgramLinker, ProgramGraph] | None = None
    compiles_in_calls: bool = False

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return an attribute that an installed distribution gives to programs."""
            entry = None if name.startswith("_") else discover(ATTRIBUTES).get(name)
            if entry is None:
                msg = f"{type(self).__name__!r} object has no attribute {name!r}"
                raise AttributeError(msg)
            return entry.load()(self)

    @abstractmethod
    def __call__(self, *inputs: object) -> Sequence[Value]:
        """Compute the outputs.

        Parameters
        ----------
        inputs
            One value for each input of the graph, already of its type.

        Returns
        -------
        One value for each output of the graph, which the caller owns.

        Raises
        ------
        NodeError
            If a node fails; it names the op and the user's line.
        """

    def offer_caller(
        self, fallback: Callable[..., object], single: bool, take: Callable[[Callable[..., object]], None]
    ) -> None:
        """Hand over a quicker way to call the program, for those that have one; by default there is none.

        Parameters
        ----------
        fallback
            What the quicker way calls, with the arguments it was given, when these are not exactly of the inputs'
            types, in number, class, dtype, rank and known lengths; and when a node fails, so that it must raise.
        single
            Whether to return the first output instead of the list of all.
        take
            Is called with it: at once, later from another thread, or never.
        """
        del fallback, single, take

    def updating(
        self,
        replaced: Sequence[tuple[int, int]],
        write: Callable[..., None],
        text: UpdatingText | None = None,
    ) -> Callable[..., Sequence[Value]]:
        """Return a function like the program, for a caller that puts outputs in the place of inputs after each call.

        By default it is the program itself. A program may take over the memory of inputs that are about to be
        replaced, where nobody holds them but their cell, a local variable of the caller and the arguments.

        Parameters
        ----------
        replaced
            Positions of these inputs, each with that of the output that takes its place.
        write
            Is called with the outputs as soon as inputs are gone, to put all new values into their cells: the caller
            may be interrupted before it comes to that. Given positions of outputs too, it puts these alone.
        text
            The caller's text, where the program may add a quicker way of its own.
        """
        del replaced, write, text
        return self

    def native_guard(self, kind: Type, name: str) -> tuple[str, dict[str, Any]] | None:
        """Return a Python expression that tells whether a variable holds a native value of a type, as `Type.guard`.

        Parameters
        ----------
        kind
            The type.
        name
            Name of the variable; further names in the expression start with it.

        Returns
        -------
        The expression, and what it uses by name. Arguments for which it holds are passed on as they are. None, the
        default, has all native arguments made host values first.
        """
        return None

    def device_form(self, kind: Type) -> tuple[type, Callable[[Value], Value]] | None:
        """Return the class of native values of a type, and a function that makes one, with memory of its own.

        Shared variables whose values the program reads keep them in this form from the first call on. None, the
        default, has the program given values in the form that they were left in.
        """
        return None

    def begun(self) -> Program | None:
        """Return a program that begins the same computation and returns before its end, results in native form.

        Arguments may be changed as soon as it has returned. None, the default, where there is none: the program returns
        when it has computed.
        """
        return None

    def fetch(self, value: object, type_: Type) -> Value:
        """Return an output in native form as a host value that the caller owns."""
        return type_.to_host(value)

    def wait(self, values: Sequence[object]) -> None:
        """Return when outputs in native form have been computed, where a call does not wait for that itself."""
        del values

    def device_memory(self) -> Callable[[], int] | None:
        """Begin to count the memory of the program's device anew, for profiles.

        Returns
        -------
        A function that returns the most bytes in use at once since then. None where nobody counts them: on the host,
        which is the default, and on devices whose library does not.
        """
        return None

    def rebound(self, graph: ProgramGraph, data: object) -> Program | None:
        """Return this program for an equal graph of other origin: compiled code is shared, errors name its lines.

        Parameters
        ----------
        graph
            The other graph.
        data
            What `ProgramLinker.load` would be given for it.

        Returns
        -------
        The program. None, the default, has the linker load one.
        """
        return None


@dataclass(frozen=True, slots=True)
class Backend:
    """Declaration of a backend, published under the entry-point group ``treadle.backends``.

    Parameters
    ----------
    name
        Its name in lower case; the mode of that name in upper case uses it.
    linker
        Makes its linker.
    include, exclude
        Tags of rewrites to run and to leave out, in addition to what the mode asks for.
    capabilities
        Free words: ``"fusion"``, ``"inplace"``, ``"native_values"`` … Two matter to every function: ``"deepcopy"``,
        it lowers `treadle.graph.DeepCopyOp`, so that graphs say themselves where an output must be copied; and
        ``"views"``, an output that `treadle.graph.ViewOp` computes is returned as it is, in memory that it shares.
    version
        Returns a stamp for cache keys.
    unavailable
        Returns why the backend cannot work on this machine (``"no C compiler was found"``), or None.
    priority
        The default mode takes the backend of the highest priority that works here; None is never taken.
    aliases
        Further names under which option ``linker`` knows the backend.
    node_linker
        Makes its linker for graphs of one node, as profiles and checks run them: one that spares itself what pays
        only for whole graphs; `linker` if None.
    libraries
        The distributions, treadle's apart, that its programs depend on: cache keys of programs hold their versions.
    about
        Returns what it works with on this machine, by name: a compiler, devices.
    function_attributes
        Attributes that functions compiled with it have beside their own, by name: what makes each, once, of the
        function.
    """

    name: str
    linker: Callable[[], ProgramLinker]
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    capabilities: frozenset[str] = frozenset()
    version: Callable[[], str] = field(default=lambda: "1")
    unavailable: Callable[[], str | None] = field(default=lambda: None)
    priority: int | None = None
    aliases: tuple[str, ...] = ()
    node_linker: Callable[[], ProgramLinker] | None = None
    libraries: tuple[str, ...] = ()
    about: Callable[[], Mapping[str, str]] = field(default=dict[str, str])
    function_attributes: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict, compare=False)
