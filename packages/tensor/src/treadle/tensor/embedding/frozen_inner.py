"""HasFrozenGraph: what ops share that hold an inner graph which cannot be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import HasInnerGraph, compile_inner

if TYPE_CHECKING:
    from treadle.graph import Compute, FrozenFunctionGraph, Variable


class HasFrozenGraph(HasInnerGraph):
    """Mixin of ops with a frozen inner graph, which they keep as ``_graph``."""

    _graph: FrozenFunctionGraph

    @property
    def fgraph(self) -> FrozenFunctionGraph:
        """The inner graph, which cannot be changed."""
        return self._graph

    @property
    def fn(self) -> Compute:
        """The inner graph as a function, compiled at the first use and kept."""
        known: Compute | None = self.__dict__.get("_fn")
        if known is None:
            known = self.__dict__["_fn"] = compile_inner(self.fgraph.unfreeze())
        return known

    @property
    def inner_inputs(self) -> list[Variable]:
        """Inputs of the inner graph."""
        return list(self.fgraph.inputs)

    @property
    def inner_outputs(self) -> list[Variable]:
        """Outputs of the inner graph."""
        return list(self.fgraph.outputs)
