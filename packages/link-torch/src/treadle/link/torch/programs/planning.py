"""How each value of a graph is computed: as a tensor, as Python integers, or before the program.

What decides shapes is staged (see `treadle.tensor.stage`). Of such values

* a constant is written into the program;
* an input of the graph is passed as Python integers, for which nothing is compiled anew: any vector may decide shapes;
* another one is computed with Python integers inside the program, as far as these go (see `numbers`);
* or else it is computed before the program, on the Python VM, if it follows from such values and the inputs' shapes;
* or else the program computes a tensor and reads it, which waits for the device. Such a program is never compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from treadle.config import dataclass
from treadle.graph import Apply, Constant, FunctionGraph, Variable
from treadle.link.torch.numbers import is_of_integers, length_of, on_numbers
from treadle.link.torch.programs.merging import Merged, merged, operands, with_positions
from treadle.tensor import ARange, Shape, ShapeI, stage, static_positions


@dataclass(slots=True)
class ExecutionPlan:
    """What is computed how."""

    # The nodes to run, in order; others are not needed.
    nodes: list[Apply] = field(default_factory=list)
    # Variables needed as tensors.
    tensors: dict[Variable, None] = field(default_factory=dict)
    # Variables needed as Python integers, or as floats of ranges, and a node that needs each.
    hosts: dict[Variable, Apply] = field(default_factory=dict)
    # Variables computed before the program; those in `hosts` are passed as Python integers, others as tensors.
    prelude: dict[Variable, None] = field(default_factory=dict)
    # Variables in `hosts` that are computed as tensors, from which they are read.
    read: set[Variable] = field(default_factory=set)
    # What computes nodes in place of their own rules.
    merged: dict[Apply, Merged] = field(default_factory=dict)

    def on_numbers(self, node: Apply) -> bool:
        """Whether a node that is run computes Python integers."""
        return node.outputs[0] in self.hosts and node.outputs[0] not in self.read

    def want_tensors(self, variables: Iterable[Variable]) -> None:
        """Note that variables are needed as tensors."""
        self.tensors.update(dict.fromkeys(variables))

    def want_hosts(self, variables: Iterable[Variable], node: Apply) -> None:
        """Note that a node needs variables as Python integers."""
        for var in variables:
            self.hosts.setdefault(var, node)


def plan_of(fgraph: FunctionGraph) -> ExecutionPlan:
    """Return how the values of a graph are computed."""
    order = fgraph.toposort()
    plan = ExecutionPlan()
    plan.want_tensors(fgraph.outputs)
    early = _early(fgraph, order, stage(fgraph, order, data=True).known)
    position = {node: i for i, node in enumerate(order)}
    for node in reversed(order):
        out = node.outputs[0]
        if out in plan.hosts and length_of(node) is not None:
            plan.nodes.append(node)
            plan.want_tensors(node.inputs)
            continue
        if out in plan.hosts and on_numbers(node) is not None:
            plan.nodes.append(node)
            plan.want_hosts(node.inputs, plan.hosts[out])
            continue
        for v in node.outputs:
            if v in plan.hosts and v in early:
                plan.prelude[v] = None
            elif v in plan.hosts:
                plan.read.add(v)
                plan.want_tensors([v])
        if any(v in plan.tensors and v not in plan.prelude for v in node.outputs):
            if isinstance(node.op, ARange) and out in early and not is_of_integers(node):
                plan.prelude[out] = None
                continue
            plan.nodes.append(node)
            together = merged(fgraph, node)
            # What is taken from beside the node's inputs may come after it.
            if together is not None and all(position.get(v.owner, -1) < position[node] for v in together.tensors):  # type: ignore[arg-type]  # None is no node
                plan.merged[node] = together
                plan.want_hosts(together.numbers, node)
                plan.want_tensors(together.tensors)
                continue
            static = set(static_positions(node))
            plan.want_hosts((v for i, v in enumerate(node.inputs) if i in static), node)
            plan.want_tensors(v for i, v in enumerate(operands(node)) if i not in static)
    plan.nodes.reverse()
    for first, (second, together) in with_positions(plan.nodes).items():
        plan.nodes.remove(second)
        plan.merged |= {first: together, second: together}
    return plan


def _early(fgraph: FunctionGraph, order: Sequence[Apply], known: set[Variable]) -> set[Variable]:
    """Return the variables that can be computed from what decides shapes, without running the program."""
    inputs = set(fgraph.inputs)
    early = inputs & known
    for node in order:
        if isinstance(node.op, Shape | ShapeI):
            if node.inputs[0] in inputs:
                early.update(node.outputs)
        elif all(v in early or isinstance(v, Constant) for v in node.inputs):
            early.update(node.outputs)
    return early
