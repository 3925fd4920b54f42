"""Rewriters made of several, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Variable
from treadle.rewrite.interface import GraphRewriter, NodeRewriter
from treadle.rewrite.run import replacements, running

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from treadle.graph import Apply, FunctionGraph, Op


class SequentialNodeRewriter(NodeRewriter):
    """Tries rewriters on a node, in order.

    Parameters
    ----------
    rewriters
        The rewriters.
    apply_all_rewrites
        Whether to go on, with what a rewriter returned, until none of them changes anything; otherwise the first
        one that changes something decides.
    """

    def __init__(self, *rewriters: NodeRewriter, apply_all_rewrites: bool = False) -> None:
        self.rewrites = rewriters
        self.apply_all_rewrites = apply_all_rewrites
        depths = [rewriter.depth for rewriter in rewriters]
        self.depth = None if None in depths else max((d for d in depths if d is not None), default=1)
        tracked = [rewriter.tracks() for rewriter in rewriters]
        self._tracks = (
            None if None in tracked else tuple(dict.fromkeys(op for ops in tracked if ops is not None for op in ops))
        )
        self.name = "_".join(str(rewriter) for rewriter in rewriters)

    def tracks(self) -> Sequence[Op | type[Op]] | None:
        """Return what any of the rewriters looks at."""
        return self._tracks

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach what the rewriters need."""
        for rewriter in self.rewrites:
            rewriter.add_requirements(fgraph)

    def transform(self, fgraph: FunctionGraph, node: Apply) -> Any:
        """Return what the first rewriter that changes something returns, or what all of them make of the node."""
        if not self.apply_all_rewrites:
            return self._first(fgraph, node)
        start, result, current = node, None, node
        limit = 100
        while limit:
            made = self._first(fgraph, current)
            if made is None:
                break
            pairs = dict(replacements(self.name, current, made)[0])
            result = [pairs.get(out) for out in current.outputs] if result is None else self._chained(result, pairs)
            owner = next((var.owner for var in result if var is not None), None)
            if len(start.outputs) != 1 or owner is None or owner is current:
                break
            current = owner
            limit -= 1
        return result

    @staticmethod
    def _chained(result: Sequence[Variable | None], pairs: Mapping[Variable, Variable]) -> list[Variable | None]:
        return [var if var is None else pairs.get(var, var) for var in result]

    def _first(self, fgraph: FunctionGraph, node: Apply) -> Any:
        for rewriter in self.rewrites:
            if looks_at(rewriter, node):
                made = rewriter.transform(fgraph, node)
                if made is not None and made is not False:
                    return made
        return None


def looks_at(rewriter: NodeRewriter, node: Apply) -> bool:
    """Whether a rewriter tracks a node's op."""
    tracked = rewriter.tracks()
    if tracked is None:
        return True
    op = node.op
    return any(isinstance(op, item) if isinstance(item, type) else op == item for item in tracked)


class SequentialGraphRewriter(GraphRewriter):
    """Runs rewriters of whole graphs, in order.

    Parameters
    ----------
    rewriters
        The rewriters.
    name
        Its id, the phase of what runs in it.
    """

    reports_itself = True

    def __init__(self, *rewriters: GraphRewriter, name: str = "") -> None:
        self.rewrites = rewriters
        self.name = name

    def apply(self, fgraph: FunctionGraph) -> int:
        """Run the rewriters; return the number of changes."""
        with running(fgraph) as run, run.in_phase(self.name):
            return sum(run.apply(rewriter) for rewriter in self.rewrites)

    def __iter__(self) -> Iterator[GraphRewriter]:
        """Iterate over the rewriters."""
        return iter(self.rewrites)

    def __len__(self) -> int:
        """Return the number of rewriters."""
        return len(self.rewrites)

    def __getitem__(self, i: int) -> GraphRewriter:
        """Return one of the rewriters."""
        return self.rewrites[i]

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules that may run, in the order in which they first run."""
        return tuple(dict.fromkeys(name for rewriter in self.rewrites for name in rewriter.rules))
