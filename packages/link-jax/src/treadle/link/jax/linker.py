"""From a graph to a program: lowering every node, refusing what cannot be lowered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import Constant, missing_lowerings
from treadle.link.jax.errors import Unsupported
from treadle.link.jax.program import JaxProgram
from treadle.link.jax.staging import find_static, static_positions
from treadle.link.jax.table import JAX
from treadle.link.jax.tracing import Recipe, Step, on_host
from treadle.link.vm import Linker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, FunctionGraph, Variable
    from treadle.link.jax.staging import Staging


class JaxLinker(Linker):
    """Links graphs to programs compiled by ``jax.jit``."""

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> JaxProgram:
        """Return a program for the graph; the outputs at `native_outputs` are returned as ``jax.Array``."""
        return JaxProgram(fgraph, make_recipe(fgraph), native_outputs)


def make_recipe(fgraph: FunctionGraph) -> Recipe:
    """Return how to trace a graph.

    Raises
    ------
    LoweringError
        If nodes have no lowering, or shapes depend on data; all such nodes are listed.
    """
    order = fgraph.toposort()
    staging = find_static(fgraph, order)
    gaps = list(staging.refused)
    refused = {node for node, _ in gaps}
    steps: list[Step] = []
    for node in order:
        try:
            steps.append(_step(node, staging))
        except Unsupported as refusal:
            if node not in refused:
                gaps.append((node, str(refusal)))
    if gaps:
        raise missing_lowerings(JAX.backend, gaps)
    return Recipe(
        inputs=tuple(fgraph.inputs),
        outputs=tuple(fgraph.outputs),
        constants=tuple(_constants(fgraph, order)),
        steps=tuple(steps),
        known=frozenset(staging.known),
    )


def _step(node: Apply, staging: Staging) -> Step:
    if staging.on_host(node):
        function = on_host(node)
        static = frozenset(range(len(node.inputs)))
    else:
        rule: Any = JAX.find(node.op)
        if rule is None:
            msg = "no rule is registered for it"
            raise Unsupported(msg)
        function = rule(node.op, node)
        static = frozenset(static_positions(node))
    return Step(function, tuple(node.inputs), tuple(node.outputs), static)


def _constants(fgraph: FunctionGraph, order: Sequence[Apply]) -> list[Constant]:
    used: list[Variable] = [v for node in order for v in node.inputs]
    return [v for v in dict.fromkeys([*used, *fgraph.outputs]) if isinstance(v, Constant)]
