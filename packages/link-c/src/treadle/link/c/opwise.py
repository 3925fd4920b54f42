"""OpWiseCLinker: every node as a separate step, in C if C has a rule for it, otherwise in Python."""

from __future__ import annotations

from collections.abc import Callable

from treadle.graph import Apply, FunctionGraph
from treadle.link.c.linker import CLinker
from treadle.link.vm import NodewiseLinker, Program


class OpWiseCLinker(NodewiseLinker):
    """Links each node to a separate C program, or to its ``perform`` if C has no rule for it.

    The linker named ``c|py`` gives the same values faster, with one C program for each stretch of nodes with C rules.
    This one is for inspecting the values between nodes.

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
            If nodes have no C rule and `fallback_on_perform` is false; all of them are listed.
        """
        if not self.fallback_on_perform:
            linker = CLinker()
            linker.refuse(linker.expanded(fgraph).toposort())
        return super().link(fgraph, native_outputs)
