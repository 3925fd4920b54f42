"""Linking in segments: what a linker can lower runs as its programs, every other node as a step of the Python VM."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from treadle.graph import Apply, Constant, DestroyHandler, FunctionGraph, Op
from treadle.link.vm.machine import VMLinker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from treadle.graph import Variable
    from treadle.link.vm.interface import Linker, Program


NOTHING_BEFORE: Mapping[Apply, Sequence[Apply]] = MappingProxyType({})


class Segment(Op):
    """A stretch of a graph as one node, computed by a linked program.

    Parameters
    ----------
    fgraph
        The stretch.
    program
        What computes it.
    """

    def __init__(self, fgraph: FunctionGraph, program: Program) -> None:
        self.fgraph = fgraph
        self.program = program

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node with the stretch's outputs."""
        return Apply(self, inputs, [out.type.make_variable(out.name) for out in self.fgraph.outputs])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Run the program; what it raises names the node inside."""
        del node
        for cell, value in zip(output_storage, self.program(*inputs), strict=True):
            cell[0] = value

    def __str__(self) -> str:
        """Show how many nodes there are."""
        return f"Segment({len(self.fgraph)} nodes)"


def segments(
    order: Iterable[Apply],
    accepts: Callable[[Apply], bool],
    before: Mapping[Apply, Sequence[Apply]] = NOTHING_BEFORE,
) -> list[tuple[bool, list[Apply]]]:
    """Group nodes into stretches that a linker accepts and stretches that it does not, in an order of evaluation.

    Parameters
    ----------
    order
        The nodes, each after those it needs.
    accepts
        Whether the linker lowers a node.
    before
        For some nodes, others that must run before them, such as those that read what the node overwrites.

    Notes
    -----
    A node's level counts how often the way to it from the inputs changes between accepted and other nodes. Nodes of
    one level and kind form one stretch: a way out of a stretch and back into it would have raised the level.
    """
    level: dict[Apply, int] = {}
    kinds: dict[Apply, bool] = {}
    groups: dict[tuple[int, bool], list[Apply]] = {}
    for node in order:
        kind = kinds[node] = accepts(node)
        needed = [*(x.owner for x in node.inputs), *before.get(node, ())]
        at = max((level[n] + (kinds[n] is not kind) for n in needed if n is not None and n in level), default=0)
        level[node] = at
        groups.setdefault((at, kind), []).append(node)
    return [(kind, groups[at, kind]) for at, kind in sorted(groups)]


def _boundary(group: Sequence[Apply], fgraph: FunctionGraph) -> tuple[list[Variable], list[Variable]]:
    """Return what a stretch takes from outside, constants apart, and what is used outside of it."""
    inside = set(group)
    taken = dict.fromkeys(x for node in group for x in node.inputs if x.owner not in inside)
    given = [
        out for node in group for out in node.outputs if any(client not in inside for client, _ in fgraph.clients[out])
    ]
    return [x for x in taken if not isinstance(x, Constant)], given


def link_in_segments(fgraph: FunctionGraph, linker: Linker, accepts: Callable[[Apply], bool]) -> Program:
    """Return a program for the graph: the linker's own if it accepts every node, else the VM's, which calls it.

    Parameters
    ----------
    fgraph
        The graph; it is left as it is.
    linker
        Links the stretches of nodes that it accepts.
    accepts
        Whether the linker lowers a node.
    """
    before: dict[Apply, list[Apply]] = {}
    for feature in fgraph.features:
        for node, others in feature.orderings(fgraph).items():
            before.setdefault(node, []).extend(others)
    groups = segments(fgraph.toposort(), accepts, before)
    if all(kind for kind, _ in groups) and _known_types(fgraph):
        return linker.link(fgraph)
    made: dict[Variable, Variable] = {x: x.clone() for x in fgraph.inputs}
    for kind, group in groups:
        if kind:
            _add_segment(fgraph, linker, group, made)
            continue
        for node in group:
            step = node.clone_with_new_inputs([made.get(x, x) for x in node.inputs])
            made.update(zip(node.outputs, step.outputs, strict=True))
    outer = FunctionGraph([made[x] for x in fgraph.inputs], [made.get(x, x) for x in fgraph.outputs], clone=False)
    return VMLinker().link(outer)


def _known_types(fgraph: FunctionGraph) -> bool:
    """Whether nodes take or make values of every kind that the graph does: others pass through, as only the VM lets."""
    used = {type(v.type) for node in fgraph.apply_nodes for v in (*node.inputs, *node.outputs)}
    return used.issuperset(type(v.type) for v in (*fgraph.inputs, *fgraph.outputs))


def _add_segment(fgraph: FunctionGraph, linker: Linker, group: Sequence[Apply], made: dict[Variable, Variable]) -> None:
    """Link a stretch and add its node to the graph being made."""
    taken, given = _boundary(group, fgraph)
    inner = FunctionGraph(taken, given, clone=True)
    if any(node.op.destroy_map for node in group):
        inner.attach_feature(DestroyHandler())
    step = Segment(inner, linker.link(inner)).make_node(*(made.get(x, x) for x in taken))
    step.user_line = group[-1].user_line
    made.update(zip(given, step.outputs, strict=True))
