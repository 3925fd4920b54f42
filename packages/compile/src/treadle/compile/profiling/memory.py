"""How much memory a graph's values take while it runs, computed from the sizes met in the latest call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.compile.profiling.ordering import Problem, least_peak
from treadle.config import dataclass
from treadle.graph import memory_roots, roots_of
from treadle.link.vm import unsafe_overwrites

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.graph import Apply, FunctionGraph, Variable


@dataclass(frozen=True, slots=True)
class Step:
    """Memory around one node.

    Attributes
    ----------
    node
        The node.
    made
        Bytes of new memory for its outputs.
    shared
        Bytes of its outputs that lie in memory of its inputs: views, and results in place.
    live
        Bytes in use while it runs, its outputs included.
    left
        Bytes in use after it, once what nobody needs any more is freed.
    """

    node: Apply
    made: int
    shared: int
    live: int
    left: int


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Memory of the values that a graph's nodes make; its inputs, shared variables and constants are not counted.

    Attributes
    ----------
    steps
        The nodes in the order in which they run.
    peak
        Most bytes in use at once if every value is freed after its last use (option ``allow_gc``).
    total
        Bytes in use at the end if nothing is freed: the peak without ``allow_gc``.
    outputs
        Bytes of the outputs.
    shared
        Bytes that need no memory of their own, thanks to views and results in place.
    """

    steps: tuple[Step, ...]
    peak: int
    total: int
    outputs: int
    shared: int


@dataclass(frozen=True, slots=True)
class LeastPeak:
    """The order of evaluation that needs the least memory.

    Attributes
    ----------
    order
        The nodes.
    peak
        Most bytes in use at once.
    exact
        Whether no order needs less; otherwise the best that was found.
    """

    order: tuple[Apply, ...]
    peak: int
    exact: bool


class _Blocks:
    """Blocks of memory of a graph: the variables that own memory, with who uses it."""

    def __init__(self, fgraph: FunctionGraph, order: Sequence[Apply], sizes: Mapping[Variable, int]) -> None:
        copied_inputs = unsafe_overwrites(fgraph, order)
        roots = memory_roots(order)
        for node, places in copied_inputs.items():  # each overwrites a copy made for it
            for o, overwritten in node.op.destroy_map.items():
                if set(overwritten) & places:
                    roots.pop(node.outputs[o], None)
        at = {node: i for i, node in enumerate(order)}
        users: dict[Variable, set[int]] = {}
        kept: set[Variable] = set()
        results = [out for node in order for out in node.outputs]
        for var in results:
            own = roots_of(var, roots)
            clients = {at[client] for client, _ in fgraph.clients.get(var, ()) if client in at}
            for root in own:
                users.setdefault(root, set()).update(clients)
        for out in fgraph.outputs:
            kept |= roots_of(out, roots)
        self.owners = [var for var in results if roots_of(var, roots) == {var}]
        self.sizes = sizes
        self.at = at
        self.kept = kept
        self.users = users

    def size(self, var: Variable) -> int:
        return self.sizes.get(var, 0)

    def used_by(self, var: Variable) -> frozenset[int]:
        """Return the steps that use a block: none if it is kept, its maker if there is no other."""
        if var in self.kept:
            return frozenset()
        assert var.owner is not None  # owners are made by nodes
        return frozenset(self.users.get(var, ())) or frozenset((self.at[var.owner],))


def _problem(fgraph: FunctionGraph, order: Sequence[Apply], blocks: _Blocks) -> Problem:
    at = blocks.at
    before = fgraph.orderings()
    needs = []
    for node in order:
        needed = {*(x.owner for x in node.inputs if x.owner is not None), *before.get(node, ())}
        needs.append(frozenset(at[other] for other in needed if other in at))
    listed = [(blocks.size(v), at[v.owner], blocks.used_by(v)) for v in blocks.owners if v.owner is not None]
    return Problem(needs, listed)


def memory_use(fgraph: FunctionGraph, order: Sequence[Apply], sizes: Mapping[Variable, int]) -> MemoryUse:
    """Return the memory that a graph's values take, by the nodes' order and the bytes of the values computed."""
    blocks = _Blocks(fgraph, order, sizes)
    dying: dict[int, int] = {}
    new_bytes = [0] * len(order)
    for var in blocks.owners:
        size = blocks.size(var)
        assert var.owner is not None  # owners are made by nodes
        new_bytes[blocks.at[var.owner]] += size
        users = blocks.used_by(var)
        if users:
            last = max(users)
            dying[last] = dying.get(last, 0) + size
    steps = []
    in_use = peak = 0
    for i, node in enumerate(order):
        live = in_use + new_bytes[i]
        in_use = live - dying.get(i, 0)
        peak = max(peak, live)
        shared = sum(sizes.get(out, 0) for out in node.outputs) - new_bytes[i]
        steps.append(Step(node, new_bytes[i], shared, live, in_use))
    outputs = sum(blocks.size(var) for var in blocks.owners if var in blocks.kept)
    return MemoryUse(tuple(steps), peak, sum(new_bytes), outputs, sum(step.shared for step in steps))


def least_memory(fgraph: FunctionGraph, order: Sequence[Apply], sizes: Mapping[Variable, int]) -> LeastPeak:
    """Return an order of evaluation with the least peak of memory (parameters as for `memory_use`).

    Exact for small graphs; `treadle.compile.profiling.ordering.least_peak` says how, and what happens beyond.
    """
    blocks = _Blocks(fgraph, order, sizes)
    positions, peak, exact = least_peak(_problem(fgraph, order, blocks), range(len(order)))
    return LeastPeak(tuple(order[i] for i in positions), peak, exact)
