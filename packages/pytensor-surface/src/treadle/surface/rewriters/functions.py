"""Rewriters made of functions, and the decorators that make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import DestroyHandler, Feature
from treadle.rewrite import GraphRewriter, NodeRewriter, RewriterTypeError
from treadle.rewrite.engine.tracked import Tracked, check_tracked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, FunctionGraph

    # A class of features, or a function of the graph.
    Requirement = type[Feature] | Callable[[FunctionGraph], object]


def _attach(fgraph: FunctionGraph, requirements: Sequence[Any]) -> None:
    """Attach features given by their classes, unless the graph has them; call whatever else is given."""
    for item in requirements:
        if not (isinstance(item, type) and issubclass(item, Feature)):
            item(fgraph)
        elif not any(type(feature) is item for feature in fgraph.features):
            fgraph.attach_feature(item())


class FromFunctionNodeRewriter(NodeRewriter):
    """A function ``(fgraph, node)`` as a rewriter of nodes.

    Parameters
    ----------
    fn
        The function; `NodeRewriter.transform` says what it may return.
    tracks
        Ops and classes of ops it looks at, and predicates of ops such as `OpPattern`; every node if None.
    requirements
        Classes of features to attach to the graph, or functions of the graph to call.
    depth
        How many levels of nodes it looks at; None if that is not known.
    """

    def __init__(
        self,
        fn: Callable[[FunctionGraph, Apply], object],
        tracks: Sequence[Tracked] | None,
        requirements: Sequence[Requirement] = (),
        depth: int | None = None,
    ) -> None:
        self.fn = fn
        self.name = self.__name__ = getattr(fn, "__name__", "")
        self.__doc__ = fn.__doc__
        self.requirements = tuple(requirements)
        self.depth = depth
        self._tracks = None if tracks is None else tuple(tracks)

    def tracks(self) -> Sequence[Tracked] | None:
        """Return the ops, classes of ops and predicates of what it looks at."""
        return self._tracks

    def transform(self, fgraph: FunctionGraph, node: Apply) -> object:
        """Call the function."""
        return self.fn(fgraph, node)

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the features required."""
        _attach(fgraph, self.requirements)


class FromFunctionGraphRewriter(GraphRewriter):
    """A function ``(fgraph)`` as a rewriter of whole graphs.

    Parameters
    ----------
    fn
        The function.
    requirements
        Classes of features to attach to the graph, or functions of the graph to call.
    """

    def __init__(self, fn: Callable[[FunctionGraph], object], requirements: Sequence[Requirement] = ()) -> None:
        self.fn = fn
        self.name = self.__name__ = getattr(fn, "__name__", "")
        self.__doc__ = fn.__doc__
        self.requirements = tuple(requirements)

    def apply(self, fgraph: FunctionGraph) -> object:
        """Call the function."""
        return self.fn(fgraph)

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the features required."""
        _attach(fgraph, self.requirements)


def _check_function(what: str, fn: object) -> None:
    if not callable(fn):
        msg = f"{what}: decorates a function, got {fn!r}. Write @{what}(...) above a def."
        raise RewriterTypeError(msg)


def node_rewriter(
    tracks: Sequence[Tracked] | None,
    inplace: bool = False,
    requirements: Sequence[Requirement] = (),
    *,
    depth: int | None = None,
) -> Callable[[Callable[[FunctionGraph, Apply], object]], FromFunctionNodeRewriter]:
    """Return a decorator that makes a rewriter of nodes out of ``(fgraph, node)``.

    Parameters
    ----------
    tracks
        Ops and classes of ops it looks at, and predicates of ops such as `OpPattern`; every node if None.
    inplace
        Whether what it returns overwrites inputs, so that a destroy handler must watch the graph.
    requirements
        Classes of features to attach to the graph, or functions of the graph to call.
    depth
        How many levels of nodes it looks at, its own included. If that is not said, the engine tries it again after
        every change.

    Raises
    ------
    RewriterTypeError
        If `tracks` is empty, or holds something that is no op, class of ops or predicate.
    """
    if tracks is not None:
        if not isinstance(tracks, list | tuple | set | frozenset) or not tracks:
            msg = f"node_rewriter: tracks must be None or a list of ops and classes of ops, got {tracks!r}."
            raise RewriterTypeError(msg)
        check_tracked("node_rewriter", tracks)
    needed = (*requirements, DestroyHandler) if inplace else tuple(requirements)

    def decorate(fn: Callable[[FunctionGraph, Apply], object]) -> FromFunctionNodeRewriter:
        _check_function("node_rewriter", fn)
        return FromFunctionNodeRewriter(fn, tracks, needed, depth)

    return decorate


def graph_rewriter(fn: Callable[[FunctionGraph], object]) -> FromFunctionGraphRewriter:
    """Make a rewriter of whole graphs out of ``(fgraph)``; the function calls the graph's methods to change it."""
    _check_function("graph_rewriter", fn)
    return FromFunctionGraphRewriter(fn)


def inplace_graph_rewriter(fn: Callable[[FunctionGraph], object]) -> FromFunctionGraphRewriter:
    """Make a rewriter of whole graphs that overwrites inputs: a destroy handler watches the graph."""
    _check_function("inplace_graph_rewriter", fn)
    return FromFunctionGraphRewriter(fn, (DestroyHandler,))
