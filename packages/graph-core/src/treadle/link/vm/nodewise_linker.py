"""NodewiseLinker: links every node by itself, so that the values between nodes can be looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.vm.linker import ProgramLinker
from treadle.link.vm.programs import link_node_by_node

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply, Compute, FunctionGraph
    from treadle.link.vm.interface import Program


class NodewiseLinker(ProgramLinker):
    """Links every node by itself: to another linker's program where it takes the node, else to the Python VM.

    Parameters
    ----------
    linker
        What lowers the nodes; None for the Python VM alone.
    wrap
        Is called with each node and the function that computes it, and returns the function to use instead: one value
        for each input in, the output's value or a tuple of several out. None leaves the functions as they are.
    allow_gc
        Whether to free intermediate values after their last use; option ``allow_gc`` if None.
    """

    def __init__(
        self,
        linker: ProgramLinker | None = None,
        wrap: Callable[[Apply, Callable[..., object]], Callable[..., object]] | None = None,
        allow_gc: bool | None = None,
    ) -> None:
        super().__init__(allow_gc=allow_gc)
        self.acts_at_nodes = wrap is not None
        self.linker = linker
        self.wrap = wrap or unchanged
        if linker is not None:
            self.required_rewrites = linker.required_rewrites
            self.incompatible_rewrites = linker.incompatible_rewrites
        self.capabilities = frozenset({"deepcopy", "views"})

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Return a program for the graph; nodes that the linker refuses run in Python, so nothing is refused."""
        return link_node_by_node(fgraph, self.linker, self.wrap, self._frees())


def unchanged(node: Apply, run: Callable[..., object]) -> Compute:
    """Return a node's function as it is."""
    del node
    return run
