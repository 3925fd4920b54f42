"""The interface that all function graphs share, whether they can be changed or not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TextIO

from treadle.graph.algorithms.equality import equal_computations, graph_key
from treadle.graph.diagnostics.upward import upward

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from treadle.graph.fgraph.structure import Client
    from treadle.graph.html import GraphPage
    from treadle.graph.ir.apply import Apply
    from treadle.graph.ir.variable import Variable


class AbstractFunctionGraph(ABC):
    """A graph between known inputs and outputs: what `FunctionGraph` and `FrozenFunctionGraph` have in common.

    Examples
    --------
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> fgraph = treadle.graph.FunctionGraph([x], [tt.exp(x)])
    >>> isinstance(fgraph, AbstractFunctionGraph), isinstance(fgraph.freeze(), AbstractFunctionGraph)
    (True, True)
    """

    inputs: Sequence[Variable]
    outputs: Sequence[Variable]
    clients: Mapping[Variable, Any]

    @property
    @abstractmethod
    def apply_nodes(self) -> Iterable[Apply]:
        """The nodes; a view that compares like a set."""

    @property
    @abstractmethod
    def variables(self) -> Iterable[Variable]:
        """Inputs, orphans (constants) and what the nodes compute; a view that compares like a set."""

    @abstractmethod
    def get_clients(self, var: Variable) -> list[Client]:
        """Return the users of a variable."""

    @abstractmethod
    def toposort(self) -> list[Apply]:
        """Return the nodes, every node after those it needs."""

    @abstractmethod
    def __contains__(self, item: object) -> bool:
        """Whether a variable or node is in the graph."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of nodes."""

    def equals(self, other: AbstractFunctionGraph) -> bool:
        """Whether the other graph computes the same in the same way, inputs matched by position."""
        return equal_computations(self.outputs, other.outputs, self.inputs, other.inputs)

    def stable_key(self) -> str:
        """Return a digest that is the same, in every process, for graphs that are equal in the sense of `equals`.

        Raises
        ------
        GraphTypeError
            If an op, type or constant has no canonical encoding.
        """
        return graph_key(self.inputs, self.outputs, sharing=False)

    def dprint(self, **options: Any) -> str | TextIO | None:
        """Print the graph (options as for `debugprint`)."""
        text: str | TextIO | None = upward.debugprint(self, **options)
        return text

    def show(self, height: int = 480) -> GraphPage:
        """Return the page of the graph, which a notebook shows (`height` in pixels)."""
        page: GraphPage = upward.GraphPage(self, height)
        return page

    def __repr__(self) -> str:
        ins, outs = (", ".join(map(str, vs)) for vs in (self.inputs, self.outputs))
        return f"{type(self).__name__}([{ins}] -> [{outs}], {len(self)} nodes)"
