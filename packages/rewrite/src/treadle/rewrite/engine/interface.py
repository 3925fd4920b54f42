"""The base classes of rewriters, of whole graphs and of single nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from treadle.rewrite.engine.run import running
from treadle.rewrite.engine.tracked import is_among

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from treadle.graph import Apply, FunctionGraph, Op
    from treadle.rewrite.engine.report import Report
    from treadle.rewrite.engine.tracked import Tracked


class Rewriter:
    """Base of all rewriters.

    Attributes
    ----------
    name
        Its id; set when it is registered in a database.
    registered_as
        The name under which a database holds it.
    """

    name: str = ""
    registered_as: str = ""

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the features that the rewriter needs; they stay on the graph."""

    def __str__(self) -> str:
        return self.name or type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>" if self.name else f"<{type(self).__name__}>"


class GraphRewriter(Rewriter, ABC):
    """Rewrites whole graphs: a subclass implements `apply`."""

    # Whether the rewriter counts and reports its changes itself, being made of others.
    reports_itself: ClassVar[bool] = False
    # Whether it sets the user's line on the nodes that it makes; else they get that of the node they replace.
    sets_lines: ClassVar[bool] = False

    @abstractmethod
    def apply(self, fgraph: FunctionGraph) -> object:
        """Change the graph through its methods `replace`, `replace_all` and the like; return the number of changes.

        If it returns anything else, the engine counts the changes.
        """

    def is_of_use(self, kinds: Iterable[type[Op]]) -> bool:
        """Whether it could change a graph that had ops of these classes."""
        return True

    def rewrite(self, fgraph: FunctionGraph, *, checks: bool = False, keep_nodes: bool = False) -> Report:
        """Rewrite a graph in place.

        Parameters
        ----------
        fgraph
            The graph.
        checks
            Whether to evaluate each change before and after it, on sample values of the graph's inputs.
        keep_nodes
            Whether the report keeps the nodes before and after each change; memory grows with their number.

        Returns
        -------
        What was done.

        Raises
        ------
        RewriteError
            If a rule fails and option ``on_opt_error`` is ``raise``.
        RuleFaultError
            If `checks` finds that a rule changed a value, a shape or a dtype.
        """
        with running(fgraph, checks=checks, keep_nodes=keep_nodes) as run:
            run.apply(self)
        return run.report

    def __call__(self, fgraph: FunctionGraph) -> Report:
        """Rewrite a graph in place (see `rewrite`)."""
        return self.rewrite(fgraph)

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules that it may run, in the order in which they first run."""
        return (str(self),)


class NodeRewriter(Rewriter, ABC):
    """Proposes replacements of single nodes: a subclass implements `transform`.

    Attributes
    ----------
    depth
        How many levels of nodes it looks at, its own node included; None if that is not known. The engine tries it
        again after a change that far below; one of unknown depth, after any change.
    first_of
        Rewriters, if all it does is try them in order until one changes something: the engine then does that itself.
    """

    depth: int | None = None
    first_of: Sequence[NodeRewriter] = ()

    def tracks(self) -> Sequence[Tracked] | None:
        """Return what it looks at, ops, classes of ops and predicates of ops; or None if it looks at every node."""
        return None

    @abstractmethod
    def transform(self, fgraph: FunctionGraph, node: Apply) -> Any:
        """Return what may take the place of a node's outputs.

        Returns
        -------
        None or False for no change; the replacement of the one output; a sequence with a replacement (or None) for
        each output; or a mapping from variables to replacements. A mapping may name under ``"remove"`` variables
        that must be gone from the graph afterwards.
        """

    def mismatch(self, fgraph: FunctionGraph, node: Apply) -> str | None:
        """Return in what a node differs from what is rewritten, for explanations; None if that is not known."""
        return None


def looks_at(rewriter: NodeRewriter, node: Apply) -> bool:
    """Whether a rewriter tracks a node's op."""
    tracked = rewriter.tracks()
    return tracked is None or is_among(node.op, tracked)
