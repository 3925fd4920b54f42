"""HasInnerGraph, the contract of ops that hold a graph of their own; and what computes graphs and variables."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from treadle.config import discover
from treadle.graph.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from treadle.graph.ir.thunk import Compute
    from treadle.graph.ir.variable import Variable


F = TypeVar("F", bound="Callable[..., Any]")


class Slot(Generic[F]):
    """A function that `find` looks up among installed packages at its first use, unless another one was set."""

    __slots__ = ("_find", "_function")

    def __init__(self, find: Callable[[], F]) -> None:
        self._find = find
        self._function: F | None = None

    def get(self) -> F:
        """Return the function, or raise a GraphError if no installed distribution offers one."""
        if self._function is None:
            self._function = self._find()
        return self._function

    def set(self, function: F | None) -> None:
        """Use another function; None looks it up again at the next use."""
        self._function = function


def _evaluator() -> Compute:
    """Return the evaluator of `compile` where that is installed, else the Python VM's."""
    entries = discover("treadle.evaluators")
    name = min(entries, key=lambda name: (name == "vm", name), default=None)
    if name is None:
        msg = (
            "eval: no installed distribution offers an evaluator. "
            "Install `compile`, or sync the environment again if it was installed just now."
        )
        raise GraphError(msg)
    evaluate: Compute = entries[name].load()
    return evaluate


def _inner_compiler() -> Callable[[object], Compute]:
    entries = discover("treadle.backends")
    if "vm" not in entries:
        msg = (
            "compile_inner: the distribution graph-core is not installed properly, its backend vm is missing. "
            "Sync the environment again."
        )
        raise GraphError(msg)
    backend = entries["vm"].load()
    return lambda fgraph: backend.linker().link(fgraph)


# ``evaluate(variable, values, mode, **kwargs)``, of the entry-point group ``treadle.evaluators``.
EVALUATOR = Slot(_evaluator)
# ``compile(fgraph)``, whose result takes and returns one value for each input and output: the Python VM, unless set.
INNER_COMPILER = Slot(_inner_compiler)


def compile_inner(fgraph: object) -> Compute:
    """Return an inner graph as a function, made by whatever `INNER_COMPILER` holds.

    Parameters
    ----------
    fgraph
        A FunctionGraph, which must not be changed afterwards.
    """
    return INNER_COMPILER.get()(fgraph)


class HasInnerGraph(ABC):
    """Mixin of ops that hold a graph of their own: ``class Loop(Op, HasInnerGraph)``.

    Printing, traversal and rewriting reach the inner graph through these members.

    Attributes
    ----------
    fgraph
        The inner graph; an op sets it, or has a property of the name.
    """

    if TYPE_CHECKING:

        @property
        def fgraph(self) -> Any:
            """The inner graph."""

    @property
    @abstractmethod
    def inner_inputs(self) -> list[Variable]:
        """Inputs of the inner graph."""

    @property
    @abstractmethod
    def inner_outputs(self) -> list[Variable]:
        """Outputs of the inner graph."""

    @property
    def fn(self) -> Callable[..., Sequence[Any]]:
        """The inner graph as a function: one value for each inner input in, one for each inner output out.

        It is compiled at the first use (see `treadle.graph.compile_inner`) and kept.
        """
        compiled: Callable[..., Sequence[object]] | None = self.__dict__.get("_fn")
        if compiled is None:
            compiled = self.__dict__["_fn"] = INNER_COMPILER.get()(self.fgraph)
        return compiled

    def clone(self) -> Self:
        """Return a copy of the op with an inner graph of its own, so that editing the one leaves the other alone.

        Every attribute that is the inner graph is replaced by a copy. An op that keeps more of it overrides this.
        """
        new = copy.copy(self)
        graph = self.fgraph
        # Ops are often frozen dataclasses: their attributes are exchanged in the dictionary.
        for name, value in self.__dict__.items():
            if value is graph:
                new.__dict__[name] = graph.clone()
        for derived in ("_fn", "_canonical", "_hash"):
            new.__dict__.pop(derived, None)
        return new


class Linked(Protocol):
    """A graph with what computes it; it can be pickled."""

    @property
    def program(self) -> Callable[..., Sequence[Any]]:
        """The function: one value for each input of the graph in, one for each output out."""


class DrivesInnerGraph(HasInnerGraph):
    """Mixin of ops whose `perform` is a search of a Python library, which calls the inner graph many times.

    Linkers whose programs run Python between compiled parts keep the op as such a step, and compile its inner graph
    (see `with_program`), even where its `decompose` gives a form without Python. All others take that form.
    """

    @abstractmethod
    def with_program(self, linked: Linked) -> Self:
        """Return the op with a function of the inner graph that a linker made."""
