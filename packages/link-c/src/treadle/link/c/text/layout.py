"""The order of the nodes of a graph in its C text: those of a branch are in functions that run only if it is taken."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.graph import Apply, Block, Branching, FunctionGraph


class Layout:
    """A graph's nodes by position, in blocks."""

    __slots__ = ("_around", "_depth", "arms", "blocks", "order")

    def __init__(self, fgraph: FunctionGraph) -> None:
        branching = Branching.of(fgraph)
        # The nodes in an order of evaluation in which each branch stands together, right before its choice.
        self.order: Sequence[Apply] = branching.linear()
        place = {node: at for at, node in enumerate(self.order)}
        number: dict[Block, int] = {block: k for k, block in enumerate(branching.blocks)}
        # Positions of each block's own nodes, inner blocks before those around them, the outermost last.
        self.blocks = [[place[node] for node in block.nodes] for block in branching.blocks]
        # By position of a choice: the numbers of the blocks of its two branches.
        self.arms = {place[node]: (number[a], number[b]) for node, (a, b) in branching.inside.items()}
        # By position: the innermost choice around the node, and the number of choices around it.
        self._around: dict[int, int] = {}
        self._depth: dict[int, int] = {}
        for block in branching.blocks:
            if block.owner is not None:
                self._around.update((place[node], place[block.owner]) for node in block.nodes)
                self._depth.update((place[node], block.depth) for node in block.nodes)

    def together(self, first: int, second: int) -> bool:
        """Whether the innermost choices around two nodes are the same, or there is none around either."""
        return self._around.get(first) == self._around.get(second)

    def outward(self, at: int, home: int) -> int:
        """Return a position, or that of the choice around it that lies in the same block as another position."""
        depth = self._depth.get(home, 0)
        while self._depth.get(at, 0) > depth:
            at = self._around[at]
        return at
