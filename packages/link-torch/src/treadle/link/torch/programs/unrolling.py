"""Loops of few steps as these steps, one after the other, for option ``torch__unroll``."""

from __future__ import annotations

from typing import cast

from treadle.graph import Apply, Constant, FunctionGraph, Variable
from treadle.tensor import CheckAndRaise, Scan, TensorVariable, ge, stack, tensors


def unrolled(fgraph: FunctionGraph, most: int) -> FunctionGraph:
    """Return a graph in which the steps of loops stand for them, where their number is constant, from 1 to `most`.

    The graph is left as it is, and returned if nothing is to be replaced. A loop with a condition stays as it is.
    What a failing step raises names its line, but not its number.
    """

    def steps_of(node: Apply) -> int:
        count = node.inputs[0]
        if not isinstance(node.op, Scan) or node.op.has_until or not isinstance(count, Constant):
            return 0
        steps = int(count.data)
        return steps if 1 <= steps <= most else 0

    if not any(map(steps_of, fgraph.apply_nodes)):
        return fgraph
    graph = fgraph.clone()
    while loops := [(node, count) for node in graph.toposort() if (count := steps_of(node))]:
        for node, count in loops:
            graph.replace_all(zip(node.outputs, _steps(node, count), strict=True), reason="unroll")
    return graph


def _steps(node: Apply, count: int) -> list[Variable]:
    """Return the outputs of a loop as what its steps compute."""
    op = cast("Scan", node.op)
    inputs = op.sorted(node.inputs[1:])
    sequences = [_of_length(x, count, node) for x in tensors(inputs.sequences)]
    carries, rows = inputs.carries, []
    for i in range(count):
        outputs = op.fgraph.bind([*(x[i] for x in sequences), *carries, *inputs.constants])
        carries = outputs[: op.n_carries]
        rows.append(outputs[op.n_carries :])
    return [*carries, *(stack(list(parts)) for parts in zip(*rows, strict=True))]


def _of_length(sequence: TensorVariable, count: int, node: Apply) -> TensorVariable:
    """Return a sequence that is known to be long enough."""
    length = sequence.type.shape[0]
    if length is not None and length >= count:
        return sequence
    op = CheckAndRaise(ValueError, f"a sequence of the loop {node.op} is shorter than its {count} steps")
    check = op.make_node(sequence, ge(sequence.shape[0], count))
    check.user_line = node.user_line
    return tensors(check.outputs)[0]
