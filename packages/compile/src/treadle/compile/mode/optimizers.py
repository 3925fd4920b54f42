"""The predefined sets of rewrites, by name, and rewriters that modes and users add to them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from treadle.compile.errors import FunctionTypeError
from treadle.compile.mode.names import NameTable
from treadle.config import lazy_module, text_of
from treadle.graph import AlreadyThere, DestroyHandler, Feature
from treadle.rewrite import GraphRewriter, RewriteDatabaseQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import FunctionGraph, printing
else:
    printing = lazy_module("treadle.graph.printing")

OPT_NONE = RewriteDatabaseQuery()
OPT_MERGE = RewriteDatabaseQuery(include=("merge",))
OPT_MINIMUM = RewriteDatabaseQuery(include=("minimum_compile",))
OPT_FAST_COMPILE = RewriteDatabaseQuery(include=("fast_compile",))
OPT_O2 = OPT_FAST_COMPILE.including("fusion")
OPT_FAST_RUN = RewriteDatabaseQuery(include=("fast_run",))
OPT_FAST_RUN_STABLE = OPT_FAST_RUN.requiring("stable")
OPT_O3 = OPT_FAST_RUN.excluding("inplace")
OPT_UNSAFE = OPT_O3.including("unsafe")
# Everything up to the stable forms, which stand at 1.5.
OPT_STABILIZE = RewriteDatabaseQuery(include=("fast_run",), position_cutoff=1.5000001)


# The object None has the set called "None".
predefined_optimizers: NameTable[RewriteDatabaseQuery | GraphRewriter] = NameTable(
    "optimizer",
    (RewriteDatabaseQuery, GraphRewriter),
    "a RewriteDatabaseQuery or a GraphRewriter is needed, got {}.",
    {
        "None": OPT_NONE,
        "merge": OPT_MERGE,
        "minimum_compile": OPT_MINIMUM,
        "fast_compile": OPT_FAST_COMPILE,
        "fast_run": OPT_FAST_RUN,
        "fast_run_stable": OPT_FAST_RUN_STABLE,
        "stabilize": OPT_STABILIZE,
        "o1": OPT_FAST_COMPILE,
        "o2": OPT_O2,
        "o3": OPT_O3,
        "o4": OPT_FAST_RUN,
        "unsafe": OPT_UNSAFE,
    },
)


def register_optimizer(name: str, opt: RewriteDatabaseQuery | GraphRewriter) -> None:
    """Let modes know a set of rewrites by a name.

    Raises
    ------
    DuplicateRegistrationError
        If the name is taken.
    FunctionTypeError
        If neither a query nor a rewriter of whole graphs is given.
    """
    predefined_optimizers.register(name, opt)


class AddFeatureOptimizer(GraphRewriter):
    """Rewriter that attaches a feature to the graph, unless the graph has one of its kind that refuses it.

    Parameters
    ----------
    feature
        The feature. Every graph gets a clone of it.

    Examples
    --------
    >>> from treadle.compile import Mode
    >>> from treadle.graph import History
    >>> mode = Mode("vm").register((AddFeatureOptimizer(History()), 49.5))
    """

    def __init__(self, feature: Feature) -> None:
        self.feature = _checked_feature(feature)

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the feature."""
        attach(fgraph, self.feature.clone())

    def apply(self, fgraph: FunctionGraph) -> None:
        """Attach the feature; nothing else is changed."""
        self.add_requirements(fgraph)

    def __str__(self) -> str:
        return f"AddFeatureOptimizer({type(self.feature).__name__})"


def _checked_feature(feature: object) -> Feature:
    if isinstance(feature, Feature):
        return feature
    msg = f"AddFeatureOptimizer: a Feature is needed, got {text_of(feature)}. Pass an instance, not its class."
    raise FunctionTypeError(msg)


def attach(fgraph: FunctionGraph, feature: Feature) -> None:
    """Attach a feature to a graph, unless one of its class is there already."""
    if any(type(other) is type(feature) for other in fgraph.features):
        return
    try:
        fgraph.attach_feature(feature)
    except AlreadyThere:
        return


class AddDestroyHandler(GraphRewriter):
    """Rewriter that attaches a `DestroyHandler`, which lets nodes overwrite their inputs where that is safe."""

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the handler."""
        attach(fgraph, DestroyHandler())

    def apply(self, fgraph: FunctionGraph) -> None:
        """Attach the handler; nothing else is changed."""
        self.add_requirements(fgraph)


class PrintCurrentFunctionGraph(GraphRewriter):
    """Rewriter that prints the graph as it is when its turn comes.

    Parameters
    ----------
    header
        What is printed above it.
    """

    def __init__(self, header: str) -> None:
        self.header = header

    def apply(self, fgraph: FunctionGraph) -> None:
        """Print the graph to standard output."""
        write: Callable[[str], object] = sys.stdout.write
        write(f"PrintCurrentFunctionGraph: {self.header}\n")
        write(f"{str(printing.debugprint(fgraph, file='str')).rstrip()}\n")
