"""HasFrozenGraph: the common part of ops with an inner graph that cannot be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.graph import HasInnerGraph, compile_inner

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Compute, FrozenFunctionGraph, FunctionGraph, Op, Variable

T = TypeVar("T")


class HasFrozenGraph(HasInnerGraph):
    """Mixin of ops with a frozen inner graph, which they keep as ``_graph``."""

    _graph: FrozenFunctionGraph

    def kept(self, name: str, compute: Callable[[], T]) -> T:
        """Return a derived value, which is computed at the first use and kept as an attribute of some name."""
        if name not in self.__dict__:
            self.__dict__[name] = compute()
        value: T = self.__dict__[name]
        return value

    @property
    def fgraph(self) -> FrozenFunctionGraph:
        """The inner graph, which cannot be changed."""
        return self._graph

    @property
    def fn(self) -> Compute:
        """The inner graph as a function, compiled at the first use and kept."""
        return self.kept("_fn", lambda: compile_inner(self.fgraph.unfreeze()))

    if TYPE_CHECKING:

        def with_inner_graph(self, fgraph: FunctionGraph) -> Op:
            """Return the op with another inner graph that computes the same."""

    def clone_with_inner_graph(self, inner_fgraph: FunctionGraph) -> Op:
        """Return the op with another inner graph that computes the same (a documented name of `with_inner_graph`)."""
        return self.with_inner_graph(inner_fgraph)

    @property
    def inner_inputs(self) -> list[Variable]:
        """Inputs of the inner graph."""
        return list(self.fgraph.inputs)

    @property
    def inner_outputs(self) -> list[Variable]:
        """Outputs of the inner graph."""
        return list(self.fgraph.outputs)
