"""From a graph to what is traced: every node lowered, and what decides shapes found before."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from treadle.graph import Apply, Block, Branching, Constant, FunctionGraph, LoweringError, Unsupported, Variable
from treadle.link.jax.programs.tracing import Arm, Choice, StagedGraph, Step
from treadle.link.jax.scalars import DERIVATIVES
from treadle.link.jax.table import JAX, Lowered, TakesAssumed
from treadle.tensor import Staging, shape_values, stage, static_positions

# JAX traces a branch within the trace of the one around it, each some forty Python frames deep. Choices further
# inside compute both branches.
MOST_NESTED = 10


def stage_graph(fgraph: FunctionGraph, varying: Collection[Variable] = ()) -> StagedGraph:
    """Return how to trace a graph; all nodes without a lowering, or whose shapes depend on data, are refused together.

    `varying` are inputs that cannot be taken by value: in the body of a loop, those that differ from step to step.
    """
    order = fgraph.toposort()
    lowered = {node: _lowered_or_refused(node) for node in order}
    # XLA compiles for each value that decides a shape: data is refused, which PyTorch, with integers that vary, takes.
    staging = stage(fgraph, order, data=False, varying=varying, positions=lambda node: _static(lowered[node], node))
    for node, rule_result in lowered.items():
        if isinstance(rule_result, TakesAssumed):
            for at in rule_result.where_known:
                staging.known |= shape_values(fgraph, node.inputs[at])
    steps = JAX.lower(order, lambda node: _step(lowered[node], node, staging), staging.refused)
    return StagedGraph(
        inputs=tuple(fgraph.inputs),
        outputs=tuple(fgraph.outputs),
        constants=tuple(_constants(fgraph, order)),
        steps=_in_blocks(_branching(fgraph, staging), steps),
        known=frozenset(staging.known),
    )


def lower(node: Apply) -> Lowered:
    """Return what the node's rule makes of it; it raises `Unsupported` for a node that it refuses, or has no rule."""
    with_derivative = DERIVATIVES.get()
    told = None if with_derivative is None else with_derivative(node)
    lowered: Lowered = JAX.rule(node)(node.op, node) if told is None else told
    return lowered


def _lowered_or_refused(node: Apply) -> Lowered | LoweringError:
    try:
        return lower(node)
    except LoweringError as refusal:
        return refusal


def _static(lowered: Lowered | LoweringError, node: Apply) -> Sequence[int]:
    """Return the positions of the inputs that decide shapes."""
    if isinstance(lowered, TakesAssumed) and lowered.static is not None:
        return lowered.static
    return static_positions(node)


def _step(lowered: Lowered | LoweringError, node: Apply, staging: Staging) -> Step:
    on_host = staging.on_host(node)
    static = frozenset(_static(lowered, node))
    if isinstance(lowered, LoweringError):
        if not on_host or not isinstance(lowered, Unsupported):
            raise lowered
        return Step(None, node, static, on_host=True)
    if isinstance(lowered, TakesAssumed):
        static |= {at for at in lowered.where_known if node.inputs[at] in staging.known}
        return Step(lowered.run, node, static, takes_assumed=True, on_host=on_host, keeping=lowered.keeping)
    return Step(lowered, node, static, on_host=on_host)


def _branching(fgraph: FunctionGraph, staging: Staging) -> Branching:
    """Return the graph as blocks; a choice whose value decides a shape is made with both values at hand."""
    branching = Branching.of(fgraph, lambda node: not staging.on_host(node))
    if all(block.depth <= MOST_NESTED for block in branching.blocks):
        return branching
    deep = {block.owner for block in branching.blocks if block.depth > MOST_NESTED}
    return Branching.of(fgraph, lambda node: node not in deep and not staging.on_host(node))


def _in_blocks(branching: Branching, steps: Mapping[Apply, Step]) -> tuple[Step | Choice, ...]:
    """Return the steps of the outermost block; those of branches stand inside choices."""
    by_block: dict[Block, tuple[Step | Choice, ...]] = {}
    for block in branching.blocks:
        steps_of_block: list[Step | Choice] = []
        for node in block.nodes:
            inside = branching.inside.get(node)
            if inside is None:
                steps_of_block.append(steps[node])
            else:
                first, second = (Arm(by_block[inner], inner.results) for inner in inside)
                steps_of_block.append(Choice(node, (first, second)))
        by_block[block] = tuple(steps_of_block)
    return by_block[branching.root]


def _constants(fgraph: FunctionGraph, order: Sequence[Apply]) -> list[Constant]:
    used: list[Variable] = [v for node in order for v in node.inputs]
    return [v for v in dict.fromkeys([*used, *fgraph.outputs]) if isinstance(v, Constant)]
