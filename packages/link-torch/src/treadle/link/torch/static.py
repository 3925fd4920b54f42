"""Which values of a graph must be Python integers, and where they come from.

An op's `static_inputs` decide shapes. Going backwards from them, up to the shapes of tensors, a value is

* a constant, written into the program;
* an input of the graph, passed as Python integers;
* computed with Python integers inside the program (`numbers`);
* or else computed before the program, on the Python VM, if it depends on small inputs and their shapes alone.

Anything else depends on computed tensors: compiled code cannot choose shapes by it, and the graph is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from treadle.graph import Constant, Unsupported
from treadle.link.torch.numbers import length_of, on_numbers
from treadle.tensor import ARange, Shape, ShapeI

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.graph import Apply, FunctionGraph, Variable


@dataclass(slots=True)
class Plan:
    """What is computed how.

    Attributes
    ----------
    nodes
        The nodes to run, in order; others are not needed.
    tensors
        Variables needed as tensors.
    hosts
        Variables needed as Python integers, and a node that needs each.
    prelude
        Variables computed before the program; those in `hosts` are passed as Python integers, others as tensors.
    gaps
        Nodes that cannot be lowered, each with the reason.
    """

    nodes: list[Apply] = field(default_factory=list)
    tensors: dict[Variable, None] = field(default_factory=dict)
    hosts: dict[Variable, Apply] = field(default_factory=dict)
    prelude: dict[Variable, None] = field(default_factory=dict)
    gaps: list[tuple[Apply, Unsupported]] = field(default_factory=list)

    def want_tensors(self, variables: Iterable[Variable]) -> None:
        """Note that variables are needed as tensors."""
        self.tensors.update(dict.fromkeys(variables))

    def want_hosts(self, variables: Iterable[Variable], node: Apply) -> None:
        """Note that a node needs variables as Python integers."""
        for var in variables:
            self.hosts.setdefault(var, node)


def static_positions(node: Apply) -> list[int]:
    """Return the positions of the inputs that decide shapes."""
    return [i for i in node.op.static_inputs if i < len(node.inputs)]


def analyse(fgraph: FunctionGraph) -> Plan:
    """Return how the values of a graph are computed."""
    plan = Plan()
    plan.want_tensors(fgraph.outputs)
    inputs = set(fgraph.inputs)
    for node in reversed(fgraph.toposort()):
        out = node.outputs[0]
        if out in plan.hosts:
            _plan_number(plan, node, out, inputs)
        elif any(v in plan.tensors for v in node.outputs):
            _plan_tensor(plan, node, out, inputs)
    plan.nodes.reverse()
    return plan


def _plan_number(plan: Plan, node: Apply, out: Variable, inputs: set[Variable]) -> None:
    if length_of(node) is not None:
        plan.nodes.append(node)
        plan.want_tensors(node.inputs)
    elif on_numbers(node) is not None:
        plan.nodes.append(node)
        plan.want_hosts(node.inputs, plan.hosts[out])
    elif is_computable(out, inputs):
        plan.prelude[out] = None
    else:
        user = plan.hosts[out]
        reason = (
            f"a shape or bound depends on values computed by {node.op}{node.where()}, and compiled code cannot choose "
            "shapes by computed values; make it an input, or pick another mode for this function"
        )
        plan.gaps.append((user, Unsupported(reason)))


def _plan_tensor(plan: Plan, node: Apply, out: Variable, inputs: set[Variable]) -> None:
    if isinstance(node.op, ARange) and any(getattr(v.type, "dtype", "float64")[0] not in "iub" for v in node.inputs):
        if is_computable(out, inputs):
            plan.prelude[out] = None
        else:
            reason = "the length of a range depends on values that the program computes"
            plan.gaps.append((node, Unsupported(reason)))
        return
    plan.nodes.append(node)
    static = set(static_positions(node))
    plan.want_hosts((v for i, v in enumerate(node.inputs) if i in static), node)
    plan.want_tensors(v for i, v in enumerate(node.inputs) if i not in static)


def is_computable(var: Variable, inputs: set[Variable]) -> bool:
    """Whether a value depends only on constants, on inputs that are scalars or vectors, and on shapes of inputs."""
    pending, seen = [var], {var}
    while pending:
        at = pending.pop()
        if isinstance(at, Constant):
            continue
        kind: Any = at.type
        if getattr(kind, "ndim", 2) > 1:
            return False
        if at in inputs:
            continue
        if at.owner is None:
            return False
        if isinstance(at.owner.op, Shape | ShapeI) and at.owner.inputs[0] in inputs:
            continue
        for v in at.owner.inputs:
            if v not in seen:
                seen.add(v)
                pending.append(v)
    return True
