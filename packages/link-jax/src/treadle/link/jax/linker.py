"""From a graph to a program: lowering every node, refusing what cannot be lowered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from treadle.graph import Branching, Constant, Unsupported
from treadle.link.jax.executables import ExecutableCache
from treadle.link.jax.program import JaxProgram, ProgramSpec
from treadle.link.jax.scalars import SCALARS
from treadle.link.jax.table import JAX, TakesAssumed
from treadle.link.jax.tracing import Arm, Choice, StagedGraph, Step
from treadle.link.vm import ProgramGraph
from treadle.tensor import PortableLinker, stage, static_positions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.graph import Apply, Block, FunctionGraph, Type, Variable
    from treadle.link.jax.table import Lowered
    from treadle.link.vm import Program
    from treadle.tensor import Staging

# JAX traces a branch within the trace of the one around it, each some forty Python frames deep. Choices further
# inside compute both branches.
MOST_NESTED = 10


class JAXLinker(PortableLinker):
    """Links graphs to programs compiled by ``jax.jit``."""

    table = JAX
    scalars = "treadle.link.jax.SCALARS"

    def lacks_rule(self, node: Apply) -> bool:
        """Whether there is no rule for a node's op, or no function for an elementwise function of it."""
        return super().lacks_rule(node) or not SCALARS.covers(node.op)

    def to_native(self, value: Any, kind: Type) -> Any:
        """Return a NumPy array as a ``jax.Array``."""
        del kind
        with jax.enable_x64(True):
            return jax.device_put(value) if isinstance(value, np.ndarray) else value

    def check(self, node: Apply) -> Lowered:
        """Return what the node's rule makes of it."""
        return _lower(node)

    def link_whole(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> JaxProgram:
        """Return a program for the graph; the outputs at `native_outputs` are returned as ``jax.Array``."""
        staged = stage_graph(fgraph)
        spec = ProgramSpec(staged.by_value, staged.arguments)
        return JaxProgram(ProgramGraph.of(fgraph, native_outputs), spec, stage_graph, staged)

    def dump_whole(self, program: Program) -> Any:
        """Return how to call the program, and where its compiled forms are kept from now on."""
        known: Any = program
        known.spec = replace(known.spec, cache=ExecutableCache())
        return known.spec

    def load_whole(self, data: Any, graph: ProgramGraph) -> JaxProgram:
        """Return the program; it compiles only for shapes that it did not meet before."""
        return JaxProgram(graph, data, stage_graph)


def stage_graph(fgraph: FunctionGraph) -> StagedGraph:
    """Return how to trace a graph.

    Raises
    ------
    LoweringError
        If nodes have no lowering, or shapes depend on data; all such nodes are listed.
    """
    order = fgraph.toposort()
    # XLA compiles for each value that decides a shape: data is refused, which PyTorch, with integers that vary, takes.
    staging = stage(fgraph, order, data=False)
    steps = JAX.lower(order, lambda node: _step(node, staging), staging.refused)
    return StagedGraph(
        inputs=tuple(fgraph.inputs),
        outputs=tuple(fgraph.outputs),
        constants=tuple(_constants(fgraph, order)),
        steps=_in_blocks(_branching(fgraph, staging), steps),
        known=frozenset(staging.known),
    )


def _branching(fgraph: FunctionGraph, staging: Staging) -> Branching:
    """Return the graph as blocks; a choice whose value decides a shape is made with both values at hand."""
    found = Branching.of(fgraph, lambda node: not staging.on_host(node))
    if all(block.depth <= MOST_NESTED for block in found.blocks):
        return found
    deep = {block.owner for block in found.blocks if block.depth > MOST_NESTED}
    return Branching.of(fgraph, lambda node: node not in deep and not staging.on_host(node))


def _in_blocks(branching: Branching, steps: Mapping[Apply, Step]) -> tuple[Step | Choice, ...]:
    """Return the steps of the outermost block; those of branches stand inside choices."""
    made: dict[Block, tuple[Step | Choice, ...]] = {}
    for block in branching.blocks:
        found: list[Step | Choice] = []
        for node in block.nodes:
            inside = branching.inside.get(node)
            if inside is None:
                found.append(steps[node])
            else:
                first, second = (Arm(made[inner], inner.results) for inner in inside)
                found.append(Choice(node, (first, second)))
        made[block] = tuple(found)
    return made[branching.root]


def _step(node: Apply, staging: Staging) -> Step:
    on_host = staging.on_host(node)
    static = frozenset(static_positions(node))
    try:
        lowered = _lower(node)
    except Unsupported:
        if not on_host:
            raise
        return Step(None, node, static, on_host=True)
    if isinstance(lowered, TakesAssumed):
        return Step(lowered.run, node, static, takes_assumed=True, on_host=on_host)
    return Step(lowered, node, static, on_host=on_host)


def _lower(node: Apply) -> Lowered:
    """Return what the node's rule makes of it; it raises `Unsupported` for a node that it refuses, or has no rule."""
    lowered: Lowered = JAX.rule(node)(node.op, node)
    return lowered


def _constants(fgraph: FunctionGraph, order: Sequence[Apply]) -> list[Constant]:
    used: list[Variable] = [v for node in order for v in node.inputs]
    return [v for v in dict.fromkeys([*used, *fgraph.outputs]) if isinstance(v, Constant)]
