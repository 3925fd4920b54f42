"""The nodes that belong to branches of conditionals: those that nothing outside of the branch needs.

A branch is a block of nodes inside another block; the outermost holds what always runs. A node stands in the innermost
block that holds all its uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph.ir.variable import Variable
from treadle.graph.ops.ifelse import IfElse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.graph.fgraph.function_graph import FunctionGraph
    from treadle.graph.ir.apply import Apply


class Block:
    """Nodes that run together.

    Attributes
    ----------
    nodes
        Its own nodes in order; those of inner blocks are not among them.
    parent
        The block around it; None for the outermost.
    owner
        The conditional that it is a branch of; None for the outermost.
    results
        What the conditional takes from it.
    depth
        Number of blocks around it.
    """

    __slots__ = ("depth", "nodes", "owner", "parent", "results")

    def __init__(
        self, parent: Block | None = None, owner: Apply | None = None, results: Sequence[Variable] = ()
    ) -> None:
        self.nodes: list[Apply] = []
        self.parent = parent
        self.owner = owner
        self.results = tuple(results)
        self.depth: int = 0 if parent is None else parent.depth + 1


def _common_block(a: Block, b: Block) -> tuple[Block, Block | None, Block | None]:
    """Return the innermost block around both, and the blocks below it on the ways there."""
    below_a: Block | None = None
    below_b: Block | None = None
    while a is not b:
        if a.depth >= b.depth:
            below, a = a, a.parent or a
            below_a = below
        else:
            below, b = b, b.parent or b
            below_b = below
    return a, below_a, below_b


def _reversed(before: Mapping[Apply, Sequence[Apply]]) -> dict[Apply, list[Apply]]:
    """Return for each node that must run before others, these others."""
    later: dict[Apply, list[Apply]] = {}
    for node, earlier in before.items():
        for other in earlier:
            later.setdefault(other, []).append(node)
    return later


class Branching:
    """A graph as blocks.

    Parameters
    ----------
    order
        The nodes, each after those it needs.
    outputs
        What is needed in any case.
    before
        For some nodes, others that must run before them: readers of what they overwrite.
    lazy
        Whether a conditional computes the branch taken only; all do if None.

    Attributes
    ----------
    root
        The outermost block.
    blocks
        All blocks, inner ones before those around them.
    inside
        The two branches of every lazy conditional.
    home
        The block of every node.
    """

    __slots__ = ("blocks", "home", "inside", "root")

    def __init__(
        self,
        order: Sequence[Apply],
        outputs: Sequence[Variable],
        before: Mapping[Apply, Sequence[Apply]] | None = None,
        lazy: Callable[[Apply], bool] | None = None,
    ) -> None:
        self.root = Block()
        self.inside: dict[Apply, tuple[Block, Block]] = {}
        self.home: dict[Apply, Block] = {}
        conditionals = [node for node in order if isinstance(node.op, IfElse) and (lazy is None or lazy(node))]
        if conditionals:
            self._place(order, outputs, before or {}, set(conditionals))
        else:
            self.root.nodes = list(order)
            self.home = dict.fromkeys(order, self.root)
        inner = [block for pair in self.inside.values() for block in pair]
        self.blocks = [*reversed(inner), self.root]

    @staticmethod
    def of(fgraph: FunctionGraph, lazy: Callable[[Apply], bool] | None = None) -> Branching:
        """Return a graph as blocks, what its features say about the order included."""
        return Branching(fgraph.toposort(), fgraph.outputs, fgraph.orderings(), lazy)

    def _place(
        self,
        order: Sequence[Apply],
        outputs: Sequence[Variable],
        before: Mapping[Apply, Sequence[Apply]],
        conditionals: set[Apply],
    ) -> None:
        needed: dict[Apply, Block] = {}
        place = {node: at for at, node in enumerate(order)}
        later = _reversed(before)

        def need(variables: Sequence[Variable], block: Block) -> None:
            for var in variables:
                node = var.owner
                if node is not None:
                    old = needed.get(node)
                    needed[node] = block if old is None or old is block else _common_block(old, block)[0]

        need(outputs, self.root)
        for node in reversed(order):
            block = needed.get(node, self.root)
            for other in later.get(node, ()):
                block = self._early_enough(block, other, place)
            self.home[node] = block
            block.nodes.append(node)
            op = node.op
            if node in conditionals and isinstance(op, IfElse):
                first, second = (Block(block, node, results) for results in op.branches(node))
                self.inside[node] = (first, second)
                need(node.inputs[:1], block)
                need(first.results, first)
                need(second.results, second)
            else:
                need(node.inputs, block)
        for block in (self.root, *(block for pair in self.inside.values() for block in pair)):
            block.nodes.reverse()

    def _early_enough(self, block: Block, node: Apply, place: Mapping[Apply, int]) -> Block:
        """Return the block, or one around it, for what must run before a node: of two branches only one runs."""
        common, below_block, below_node = _common_block(block, self.home[node])
        if below_block is None or below_block.owner is None:
            return block
        if below_node is None or below_node.owner is None:
            return block if place[below_block.owner] < place[node] else common
        if below_block.owner is below_node.owner or place[below_block.owner] < place[below_node.owner]:
            return block
        return common

    def linear(self) -> list[Apply]:
        """Return all nodes in an order in which each branch stands together, right before its conditional."""
        if not self.inside:
            return list(self.root.nodes)
        order: list[Apply] = []
        stack: list[Block | tuple[Apply]] = [self.root]
        while stack:
            item = stack.pop()
            if isinstance(item, tuple):
                order.append(item[0])
                continue
            for node in reversed(item.nodes):
                stack.append((node,))
                stack.extend(reversed(self.inside.get(node, ())))
        return order

    def last_uses(self, order: Sequence[Apply], keep: Sequence[Variable]) -> dict[Apply, list[Variable]]:
        """Return for each node the variables that nothing after it needs.

        Parameters
        ----------
        order
            The nodes as `linear` returns them.
        keep
            Variables that are needed to the end.

        Notes
        -----
        What was made before a conditional and is needed in a branch ends with the conditional, whichever is taken.
        """
        alive = set(keep)
        dying: dict[Apply, list[Variable]] = {node: [] for node in order}
        for node in reversed(order):
            for var in dict.fromkeys((*node.inputs, *node.outputs)):
                if var not in alive:
                    alive.add(var)
                    dying[self._outer_user(node, var)].append(var)
        return dying

    def _outer_user(self, node: Apply, var: Variable) -> Apply:
        """Return the node that uses a variable, as a node of the block where the variable is made."""
        target = self.root if var.owner is None else self.home.get(var.owner, self.root)
        block = self.home[node]
        while block.depth > target.depth and block.owner is not None and block.parent is not None:
            node, block = block.owner, block.parent
        return node
