"""What every backend is: a Linker that turns a graph into a Program, declared as a Backend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import FunctionGraph, Type


class Program(ABC):
    """An immutable callable, values in, values out; it keeps no state between or during calls.

    Attributes
    ----------
    host
        True: takes and returns host values (NumPy arrays, for tensors). False: takes host values or this backend's
        own ones, and returns host values except for the outputs that were asked for in native form.
    """

    host: bool = True

    @abstractmethod
    def __call__(self, *inputs: Any) -> Sequence[Any]:
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

    def fetch(self, value: Any, type_: Type) -> Any:
        """Return an output in native form as a host value that the caller owns."""
        return type_.to_host(value)


class Linker(ABC):
    """Turns rewritten graphs into programs."""

    @abstractmethod
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
        """


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
        Free words: ``"fusion"``, ``"inplace"``, ``"native_values"`` …
    version
        Returns a stamp for cache keys.
    unavailable
        Returns why the backend cannot work on this machine (``"no C compiler was found"``), or None.
    priority
        The default mode takes the backend of the highest priority that works here; None is never taken.
    aliases
        Further names under which option ``linker`` knows the backend.
    """

    name: str
    linker: Callable[[], Linker]
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    capabilities: frozenset[str] = frozenset()
    version: Callable[[], str] = field(default=lambda: "1")
    unavailable: Callable[[], str | None] = field(default=lambda: None)
    priority: int | None = None
    aliases: tuple[str, ...] = ()
