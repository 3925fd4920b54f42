"""New values that differ from old ones in a part: written into the old ones, at the end of a call that succeeded.

``updates={w: w[i].inc(y)}`` is to cost what it changes, not the size of ``w``. So the program does not compute the new
value: it computes what is written and where, and the caller writes it into the block of the old value, under the lock
that it holds anyway. Everything that reads the old value has run by then. The same holds for an argument that the call
may overwrite, where an output is that argument with a part changed.

A value that somebody else still refers to is copied first, once: whoever borrowed it never sees it change. What is
overwritten is kept until all of the call has succeeded.
"""

from __future__ import annotations

import itertools
from sys import getrefcount
from typing import TYPE_CHECKING, NamedTuple, cast

from treadle.graph import ChangesPart, Constant, Container, DestroyHandler, FunctionGraph, Supervisor, view_op
from treadle.link.vm import replay, unsafe_overwrites, vm_scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.compile.functions.maker import FunctionMaker
    from treadle.compile.functions.specification import Specification
    from treadle.graph import Apply, Type, Value, Variable


def _references(targets: Sequence[Value], at: int) -> int:
    return getrefcount(targets[at])


def _own_references() -> int:
    """Return how many references there are to a value that only its cell holds while `PartialWriter` looks at it.

    They are two slots of the cell, a local variable of the caller, its list of targets, and what Python itself holds
    during the question: five, but another version may need fewer. One that needs more has copies made.
    """
    cell = [object()] * 2
    value = cell[0]
    return min(_references([value], 0), 5)


_OWN_REFERENCES = _own_references()


class PartialUpdate(NamedTuple):
    """How an output of a function's graph, by position, is made from one of its inputs by steps.

    A step is an op, and the positions of its inputs but the first: among the graph's inputs, then the constants, then
    the program's outputs.
    """

    output: int
    input: int
    steps: tuple[tuple[ChangesPart, tuple[int, ...]], ...]


class Writes(NamedTuple):
    """What the caller of a program writes."""

    types: tuple[Type, ...]  # of the program's outputs: those that the caller does not write, then what it writes
    constants: tuple[Constant, ...]  # those among what it writes
    updates: tuple[PartialUpdate, ...]

    def places(self, count: int) -> list[int | None]:
        """Return for each of the first outputs of the graph its position among the program's; None if it is written."""
        written = {u.output for u in self.updates}
        numbers = itertools.count()
        return [None if k in written else next(numbers) for k in range(count)]


class Split(NamedTuple):
    """The graph that is left for the program to compute, and what the caller writes."""

    graph: FunctionGraph
    writes: Writes


def split(fgraph: FunctionGraph, spec: Specification) -> Split | None:
    """Return a rewritten graph's parts, which share its nodes, or None where the caller has nothing to write."""
    chains = _chains(fgraph, spec)
    if not chains:
        return None
    outputs = [out for k, out in enumerate(fgraph.outputs) if k not in chains]
    targets = {root for root, _ in chains.values()}
    operands = dict.fromkeys(x for _, nodes in chains.values() for node in nodes for x in node.inputs[1:])
    constants = [x for x in operands if isinstance(x, Constant)]
    available = {*fgraph.inputs, *constants} - targets
    computed = [x for x in operands if x not in available]
    positions = {x: at for at, x in enumerate([*fgraph.inputs, *constants, *outputs, *computed]) if x in available}
    positions |= {x: len(fgraph.inputs) + len(constants) + len(outputs) + at for at, x in enumerate(computed)}
    outputs += computed
    graph = FunctionGraph(fgraph.inputs, outputs, clone=False)
    for feature in fgraph.features:
        if isinstance(feature, Supervisor):
            graph.attach_feature(feature.clone_onto({}))
    if any(node.op.destroy_map for node in graph.apply_nodes):
        graph.attach_feature(DestroyHandler())
    if unsafe_overwrites(graph, graph.toposort()):
        # A value is overwritten before the caller would write what needs it.
        return None
    updates = []
    for k, (root, nodes) in chains.items():
        steps = tuple((cast("ChangesPart", node.op), tuple(positions[x] for x in node.inputs[1:])) for node in nodes)
        updates.append(PartialUpdate(k, fgraph.inputs.index(root), steps))
    return Split(graph, Writes(tuple(v.type for v in outputs), tuple(constants), tuple(updates)))


def _chains(fgraph: FunctionGraph, spec: Specification) -> dict[int, tuple[Variable, list[Apply]]]:
    """Return by position the outputs that are an input of the graph with parts changed, each of another input."""
    chains: dict[int, tuple[Variable, list[Apply]]] = {}
    used: set[Variable] = set()
    for k in range(len(fgraph.outputs)):
        root, nodes = _chain(fgraph, k)
        if nodes and root not in used and _may_be_written(fgraph, spec, k, root, nodes[0]):
            used.add(root)
            chains[k] = root, nodes
    return chains


def _chain(fgraph: FunctionGraph, k: int) -> tuple[Variable, list[Apply]]:
    """Return what an output is made of by changing parts only, and the nodes that do that, the first one first."""
    var, nodes = fgraph.outputs[k], []
    while var.owner is not None and len(fgraph.clients[var]) == 1:
        if isinstance(var.owner.op, ChangesPart):
            nodes.append(var.owner)
        elif nodes or var.owner.op != view_op:
            break
        var = var.owner.inputs[0]
    return var, nodes[::-1]


def _may_be_written(fgraph: FunctionGraph, spec: Specification, k: int, root: Variable, first: Apply) -> bool:
    if isinstance(root, Constant) or root not in fgraph.inputs:
        return False
    i = fgraph.inputs.index(root)
    if k >= len(spec.outputs):
        cell = spec.updates[k - len(spec.outputs)][0]
        return i >= len(spec.inputs) and spec.shared[i - len(spec.inputs)].container is cell and type(cell) is Container
    # An argument that is not a default: rewriting has found that nothing reads it later.
    return spec.outputs[k].borrow and i in spec.mutable_inputs() and bool(first.op.destroy_map)


class PartialWriter:
    """Writes into targets, in the order of the updates, at the end of a call, or undoes what it has written."""

    __slots__ = ("_maker", "_shared", "_steps", "_types")

    def __init__(self, maker: FunctionMaker, writes: Writes) -> None:
        self._maker = maker
        spec = maker.specification
        types: list[Type] = [*(i.variable.type for i in spec.inputs), *(s.type for s in spec.shared)]
        self._types = [types[u.input] for u in writes.updates]
        self._shared = [u.input >= len(spec.inputs) for u in writes.updates]
        self._steps = [u.steps for u in writes.updates]

    def write(self, targets: list[Value], values: Sequence[Value], undo_steps: list[Value]) -> None:
        """Write; a copy replaces a target that somebody else refers to. `values` are those that steps point at.

        `undo_steps` gets, before each change, what undoes it; and None at last, when everything is written.
        """
        with vm_scope():
            for k, steps in enumerate(self._steps):
                other_references = _references(targets, k) - _OWN_REFERENCES
                if self._shared[k] and not self._types[k].owned_alone(targets[k], other_references):
                    targets[k] = self._types[k].copy_value(targets[k])
                for op, places in steps:
                    inputs = [targets[k], *[values[i] for i in places]]
                    part = op.keep_part(inputs)
                    undo_steps.append((op, inputs, part))
                    op.change_part(inputs, part)
        undo_steps.append(None)

    def undo(self, undo_steps: list[Value], error: BaseException, inputs: Sequence[Value]) -> None:
        """Undo what was written, and raise the error of the node that failed, computing again from `inputs`."""
        for op, operands, part in reversed(undo_steps):
            op.restore_part(operands, part)
        if isinstance(error, Exception):
            node_error = replay(self._maker.fgraph, self._copied(inputs), error)
            try:
                if node_error is not error:
                    raise node_error from error
            finally:
                del node_error  # it refers to this frame

    def _copied(self, inputs: Sequence[Value]) -> list[Value]:
        mutable = self._maker.specification.mutable_inputs()
        specs = self._maker.specification.inputs
        return [specs[i].variable.type.copy_value(x) if i in mutable else x for i, x in enumerate(inputs)]
