"""The graph that a program was linked from, as far as running the program needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from treadle.config import new_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import FunctionGraph, Type

T = TypeVar("T")


class Later(Generic[T]):
    """A value that calls do not need: the compile cache keeps it beside the graph, and loads it when it is asked for.

    Parameters
    ----------
    load
        Returns the value; called at most once.

    Examples
    --------
    >>> Later(lambda: "text").get()
    'text'
    """

    __slots__ = ("_known", "_load", "_lock")

    def __init__(self, load: Callable[[], T]) -> None:
        self._load: Callable[[], T] | None = load
        self._known: T | None = None
        self._lock = new_lock()

    @classmethod
    def of(cls, value: T) -> Later[T]:
        """Return a value that is there already."""
        made = cls(lambda: value)
        made.get()
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return Later.of, (self.get(),)

    def get(self) -> T:
        """Return the value."""
        if self._load is not None:
            with self._lock:
                if self._load is not None:
                    self._known = self._load()
                    self._load = None
        known: T = self._known  # type: ignore[assignment]  # loaded above
        return known


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
        """Return what a program needs of a graph that is there."""
        return cls([v.type for v in fgraph.inputs], [v.type for v in fgraph.outputs], native_outputs, lambda: fgraph)

    def get(self) -> FunctionGraph:
        """Return the graph."""
        return self._graph.get()
