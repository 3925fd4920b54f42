"""OpWiseCLinker: every node by itself, in C where C has a rule for it, else in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.c.linker import CLinker
from treadle.link.vm import NodewiseLinker

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply, FunctionGraph
    from treadle.link.vm import Program


class OpWiseCLinker(NodewiseLinker):
    """Links every node to a C program of its own, or to its ``perform`` where C has no rule for it.

    The linker named ``c|py`` gives the same values, faster: it makes one C program of each stretch of nodes that C has
    rules for. This one is for looking between the nodes.

    Parameters
    ----------
    fallback_on_perform
        Whether nodes without a C rule run in Python; if not, they are refused.
    allow_gc
        Whether to free intermediate values after their last use; option ``allow_gc`` if None.
    nice_errors
        Accepted for the documented signature: errors always name the node and the user's line.
    schedule
        Returns the nodes of a graph in the order in which thunks run; `FunctionGraph.toposort` if None.
    """

    def __init__(
        self,
        fallback_on_perform: bool = True,
        allow_gc: bool | None = None,
        nice_errors: bool = True,
        schedule: Callable[[FunctionGraph], list[Apply]] | None = None,
    ) -> None:
        super().__init__(CLinker(), allow_gc=allow_gc)
        self.fallback_on_perform = fallback_on_perform
        self.nice_errors = nice_errors
        self.scheduler = schedule

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph.

        Raises
        ------
        LoweringError
            If there are nodes without a C rule, and they are not to run in Python; all are listed.
        """
        if not self.fallback_on_perform:
            linker = CLinker()
            linker.refuse(linker.expanded(fgraph).toposort())
        return super().link(fgraph, native_outputs)
