"""LoopLinker: a linker for backends that write loops and choices themselves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from treadle.graph import HasInnerGraph, IfElse
from treadle.link.vm import RuleLinker

if TYPE_CHECKING:
    from treadle.graph import FunctionGraph

__all__ = ["LoopLinker"]


class LoopLinker(RuleLinker):
    """Links graphs by rules; ops without one are replaced by simpler ones in bodies of loops too."""

    def expanded(self, fgraph: FunctionGraph, *, whole: bool = False) -> FunctionGraph:
        """Return the graph with ops that have no rule replaced by simpler ones, in bodies of loops too."""
        once = partial(super().expanded, whole=whole)
        graph = once(fgraph)
        if not any(isinstance(node.op, HasInnerGraph | IfElse) for node in graph.apply_nodes):
            return graph
        from treadle.tensor.linking.generator_states import expand_with_loops  # noqa: PLC0415 - most graphs have none

        return expand_with_loops(graph, once, partial(self.expanded, whole=whole))

    def with_states(self, fgraph: FunctionGraph) -> FunctionGraph:
        """Return the expanded graph with states of generators, which are arrays, as its inputs and outputs."""
        from treadle.tensor.linking.generator_states import with_states  # noqa: PLC0415 - as above

        return with_states(fgraph, self.expanded)
